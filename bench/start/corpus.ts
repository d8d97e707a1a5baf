/** Real records for the benchmark: the lines and elements of data files that people publish charts with. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The records of one stream. The stream holds them again and again: record `k` is `records[k % records.length]`. */
export interface CorpusStream {
  readonly name: string;
  readonly records: readonly Buffer[];
  readonly bytes: number;
}

const PACKAGE = 'vega-datasets';
const FILES: Readonly<Record<string, readonly string[]>> = {
  movies: ['movies.json'],
  flights: ['flights-20k.json'],
  birdstrikes: ['birdstrikes.csv'],
  earthquakes: ['earthquakes.json'],
  species: ['species.csv'],
  football: ['football.json'],
  zipcodes: ['zipcodes.csv'],
  jobs: ['jobs.json'],
  stocks: ['sp500-2000.csv', 'stocks.csv'],
  weather: ['seattle-weather.csv', 'weather.csv', 'seattle-weather-hourly-normals.csv'],
};

/** All streams, always in the same order. */
export function loadCorpus(): CorpusStream[] {
  // The entry of the package lies in a folder beside the data.
  const folder = join(dirname(createRequire(import.meta.url).resolve(PACKAGE)), '..', 'data');
  return Object.entries(FILES).map(([name, files]) => {
    const records = files.flatMap((file) => recordsOf(file, readFileSync(join(folder, file), 'utf8')));
    return { name, records, bytes: records.reduce((sum, record) => sum + record.length, 0) };
  });
}

/** One record per line of a CSV file, without the heading; one per element of a JSON file. */
function recordsOf(file: string, text: string): Buffer[] {
  if (file.endsWith('.csv')) {
    const [, ...lines] = text.split(/\r?\n/);
    return lines.filter((line) => line !== '').map((line) => Buffer.from(line));
  }
  const parsed = JSON.parse(text) as readonly unknown[] | { readonly features: readonly unknown[] };
  const elements = 'features' in parsed ? parsed.features : parsed;
  return elements.map((element) => Buffer.from(JSON.stringify(element)));
}
