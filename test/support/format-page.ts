/** Reads the tables and dumps of a page under `docs/formats`, to hold them against the code. */
import assert from 'node:assert/strict';

export interface FieldRow {
  readonly at: number;
  readonly bytes: number;
  readonly name: string;
}

export class FormatPage {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The first table of fields below the heading: they follow each other without a gap. */
  rows(heading: string): FieldRow[] {
    const section = this.text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
    const [table = ''] = /^\| at \|.*\n(?:\|.*\n)+/m.exec(section) ?? [];
    const matches = [...table.matchAll(/^\| (\d+) \| (\d+) \| ([^|,]+)/gm)];
    const rows = matches.map(([, at, bytes, name = '']) => ({
      at: Number(at),
      bytes: Number(bytes),
      name: name.trim(),
    }));
    assert.ok(rows.length > 0, `${heading}: no table of fields`);
    let end = 0;
    for (const { at, bytes, name } of rows) {
      assert.equal(at, end, `${heading}: ${name} follows the field before`);
      end += bytes;
    }
    return rows;
  }

  table(heading: string): { readonly positions: number[]; readonly end: number } {
    const rows = this.rows(heading);
    const last = rows.at(-1);
    return { positions: rows.map(({ at }) => at), end: (last?.at ?? 0) + (last?.bytes ?? 0) };
  }

  /** The bytes of the dump in the block of code that is opened by `fence`; `*` stands for lines of zeros. */
  dump(fence: string): Buffer {
    const start = this.text.indexOf(`\`\`\`${fence}\n`);
    assert.ok(start >= 0, `no block ${fence}`);
    const body = this.text.slice(start + fence.length + 4, this.text.indexOf('\n```', start));
    const bytes: number[] = [];
    for (const line of body.split('\n')) {
      if (line === '*') continue;
      const [position = '', ...values] = line.split(/ +/);
      const from = Number.parseInt(position, 16);
      while (bytes.length < from) bytes.push(0);
      assert.equal(bytes.length, from, `line ${position}`);
      bytes.push(...values.map((value) => Number.parseInt(value, 16)));
    }
    return Buffer.from(bytes);
  }
}
