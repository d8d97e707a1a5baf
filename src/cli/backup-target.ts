/** A backup target as an argument: a directory, or a bucket. */
import { InvalidArgumentError } from 'commander';
import type { BackupTarget } from '../store/backup-target.ts';
import { objectsAt } from './place.ts';

export const TARGET_HELP = 'directory, or s3://bucket/prefix/?endpoint=url&region=name';
const BUCKET = /^s3:\/\/[^/]/;

export function parseTarget(text: string): string {
  const wrong = text === '' || text.includes('\0') || (text.startsWith('s3:') && !BUCKET.test(text));
  if (wrong) throw new InvalidArgumentError('Use the path of a directory, or s3://bucket/prefix/.');
  return text;
}

/** A directory stays a path: it is locked while it is written to. */
export async function targetOf(text: string): Promise<BackupTarget> {
  return text.startsWith('s3:') ? objectsAt(text) : text;
}
