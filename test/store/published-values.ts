/** What the publishing process publishes. */
export const PUBLISHERS = ['sensor', 'meter', 'p\u00e4gel'] as const;

export function valueOf(publisher: string, publishingId: number): string {
  return `${publisher}:${publishingId}:`.padEnd(20 + ((publishingId * 37) % 200), '.');
}
