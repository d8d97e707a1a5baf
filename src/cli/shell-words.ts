/** Errors advise programs, in the words of the interface; here the same advice in the words of a shell. */

interface Translation {
  readonly api: string;
  readonly shell: string;
}

const TRANSLATIONS: readonly Translation[] = [
  {
    api: 'close it there, or open it with `readOnly: true`',
    shell: 'end the process that has it open; read, ls, info, offsets, verify, dump and backup work beside it',
  },
  {
    api:
      'name with option objects the place that it was written with, restore a backup, or open with `salvage: true` ' +
      'to go on without them',
    shell:
      'name with --objects the place that it was written with, restore a backup, or run ' +
      '"millrace recover <dir> --salvage" to go on without them',
  },
  {
    api: 'open the store with the objects option that it was written with',
    shell: 'name with --objects the place that it was written with',
  },
  {
    api: 'open with `salvage: true` to skip what is lost',
    shell: 'run "millrace recover <dir> --salvage" to skip what is lost',
  },
  { api: 'open it for writing to make one', shell: 'check the path, or make one with "millrace ingest"' },
  { api: 'run "millrace verify" to see what is lost', shell: 'run "millrace verify <dir>" to see what is lost' },
  { api: 'a store that is open for reading makes none', shell: '"millrace ls" lists those there are' },
  { api: ' (option maxRecordBytes)', shell: '' },
];

/** `message` with the advice that a shell can follow. */
export function forShell(message: string): string {
  return TRANSLATIONS.reduce((text, { api, shell }) => text.replaceAll(api, shell), message);
}
