/**
 * A line on standard error that shows how far a long command is; nothing at all where that is not a terminal, or one
 * that cannot move its cursor.
 */
import { type Options, type Params, SingleBar } from 'cli-progress';
import { bytes } from './text.ts';

export interface Progress {
  /** `text` follows the figures. */
  update(doneBytes: number, text: string): void;
  end(): void;
}

const BAR_COLUMNS = 30;
const FRAMES_PER_SECOND = 10;
const NOTHING: Progress = { update: () => undefined, end: () => undefined };

/** Starts the line. Without a known total it shows figures alone. */
export function startProgress(label: string, totalBytes: number | undefined): Progress {
  if (!process.stderr.isTTY || process.env['TERM'] === 'dumb') return NOTHING;
  const bar = new SingleBar({
    stream: process.stderr,
    clearOnComplete: true,
    // A hidden cursor would stay hidden when the process is killed.
    hideCursor: null,
    fps: FRAMES_PER_SECOND,
    format: (_options: Options, params: Params, payload: { text?: string }) =>
      line(label, params, totalBytes, payload.text ?? ''),
  });
  bar.start(totalBytes ?? 0, 0);
  return {
    update: (doneBytes, text) => {
      bar.update(doneBytes, { text });
    },
    end: () => {
      bar.stop();
    },
  };
}

/** Shows `work` that tells how far it is. */
export async function withProgress<T>(
  label: string,
  work: (update: (doneBytes: number, totalBytes: number) => void) => Promise<T>,
): Promise<T> {
  let progress: Progress | undefined;
  try {
    return await work((doneBytes, totalBytes) => {
      progress ??= startProgress(label, totalBytes);
      progress.update(doneBytes, '');
    });
  } finally {
    progress?.end();
  }
}

/** `90` seconds as `1:30`. */
function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60, whole % 60];
  const tail = `${String(minutes).padStart(hours > 0 ? 2 : 1, '0')}:${String(rest).padStart(2, '0')}`;
  return hours > 0 ? `${hours}:${tail}` : tail;
}

function line(label: string, params: Params, totalBytes: number | undefined, text: string): string {
  const seconds = Math.max((Date.now() - params.startTime) / 1_000, 0.001);
  const figures = `${bytes(params.value)}  ${bytes(params.value / seconds)}/s  ${text}`;
  if (totalBytes === undefined || totalBytes === 0) return `${label}  ${figures}`;
  const share = Math.min(1, params.value / totalBytes);
  const full = Math.round(share * BAR_COLUMNS);
  const bar = `${'#'.repeat(full)}${'-'.repeat(BAR_COLUMNS - full)}`;
  const left = share > 0 && share < 1 ? `${duration((seconds * (1 - share)) / share)} left` : '';
  return `${label}  ${bar}  ${Math.floor(share * 100)} %  ${figures}${left}`;
}
