/** Finds the operation that a method and a path name. */
import type { Exchange } from './exchange.ts';
import { badRequest } from './problem.ts';

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `{name}` stands for one segment of the path. */
  readonly path: string;
  /** Its name in metrics, and in the OpenAPI file. */
  readonly operation: string;
  /** Names of query parameters that it takes. */
  readonly query: readonly string[];
  /** Answered without a token, and to pages of other origins: it holds nothing of the store. */
  readonly isOpen?: true;
  readonly handle: (exchange: Exchange) => Promise<void> | void;
}

export interface Match {
  readonly route: Route;
  readonly parameters: Readonly<Record<string, string>>;
}

interface Pattern {
  readonly route: Route;
  readonly segments: readonly string[];
}

export class Router {
  readonly #byLength = new Map<number, Pattern[]>();

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const segments = route.path.split('/');
      const patterns = this.#byLength.get(segments.length) ?? [];
      patterns.push({ route, segments });
      this.#byLength.set(segments.length, patterns);
    }
  }

  /** Throws 404, 405, or 400 for a path that is no percent-encoded UTF-8. */
  match(method: string | undefined, path: string): Match {
    const segments = path.split('/');
    const allowed: string[] = [];
    for (const { route, segments: pattern } of this.#byLength.get(segments.length) ?? []) {
      if (!pattern.every((part, index) => part.startsWith('{') || part === segments[index])) continue;
      const takesHead = route.method === 'GET';
      if (route.method === method || (method === 'HEAD' && takesHead)) {
        return { route, parameters: parametersOf(pattern, segments) };
      }
      allowed.push(route.method, ...(takesHead ? ['HEAD'] : []));
    }
    if (allowed.length === 0) throw badRequest(404, `there is nothing at ${path}: /openapi.json lists what there is`);
    const allow = allowed.join(', ');
    throw badRequest(405, `${String(method)} is not possible at ${path}: use ${allow}`, { allow });
  }
}

function parametersOf(pattern: readonly string[], segments: readonly string[]): Record<string, string> {
  const parameters: Record<string, string> = {};
  pattern.forEach((part, index) => {
    if (part.startsWith('{')) parameters[part.slice(1, -1)] = decoded(segments[index] ?? '');
  });
  return parameters;
}

/** Throws 400 for what is no percent-encoded UTF-8. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badRequest(400, `${JSON.stringify(text)} is no percent-encoded UTF-8`);
  }
}
