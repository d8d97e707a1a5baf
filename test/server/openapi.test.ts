/** The OpenAPI file and the routes say the same. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ROUTES } from '../../src/server/routes.ts';
import { OPENAPI, served } from './server-fixture.ts';

interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path' | 'header';
}

function resolved(reference: string): unknown {
  const [root, ...names] = reference.split('/');
  assert.equal(root, '#');
  return names.reduce((value: unknown, name) => (value as Record<string, unknown> | undefined)?.[name], OPENAPI);
}

const described = Object.entries(OPENAPI.paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);
const routes = ROUTES.filter(({ operation }) => !operation.startsWith('getPage'));

suite('OpenAPI', () => {
  test('every route is described under its name, and nothing else is', () => {
    const name = (method: string, path: string, operation: string): string => `${method} ${path} ${operation}`;
    assert.deepEqual(
      described.map(({ method, path, operation }) => name(method, path, operation.operationId)).sort(),
      routes.map(({ method, path, operation }) => name(method, path, operation)).sort(),
    );
  });

  for (const { operation, query, path, isOpen } of routes) {
    test(`${operation} is described with its parameters, and whether it needs a token`, () => {
      const found = described.find((candidate) => candidate.operation.operationId === operation)?.operation;
      const parameters = (found?.parameters ?? []).map(({ $ref }) => resolved($ref) as Parameter);
      const names = (where: Parameter['in']): string[] =>
        parameters.filter((parameter) => parameter.in === where).map(({ name }) => name);
      assert.deepEqual(names('query').sort(), [...query].sort());
      assert.deepEqual(
        names('path'),
        [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
      );
      assert.deepEqual((found as { security?: unknown } | undefined)?.security, isOpen === true ? [] : undefined);
    });
  }

  test('every reference in the file leads somewhere', () => {
    const references = [...JSON.stringify(OPENAPI).matchAll(/"\$ref":"([^"]+)"/g)].map(
      ([, reference = '']) => reference,
    );
    assert.ok(references.length > 100);
    for (const reference of references) assert.ok(resolved(reference) !== undefined, reference);
  });

  test('the server hands it out, and says when the client has it', async (t) => {
    const client = await served(t);
    const first = await client.get('/openapi.json');
    assert.deepEqual(first.json(), OPENAPI);
    const again = await client.get('/openapi.json', { 'if-none-match': first.headers.etag });
    assert.deepEqual({ status: again.status, text: again.text }, { status: 304, text: '' });
  });
});
