/** What every campaign takes on its command line. */
import { parseArgs } from 'node:util';

export interface CampaignOptions {
  /** It ends after these. */
  readonly seconds: number;
  /** Decides every choice. By default of the clock: the campaign prints it. */
  readonly seed: number;
  /** Part of the names of what is tried; everything by default. */
  readonly only: string;
  /** The case to run again; `undefined` runs all, in turns. */
  readonly case: number | undefined;
  /** The first case of a part that runs in order; `undefined` runs them in another way. */
  readonly from: number | undefined;
}

/** Of this process. Throws an error that names an option it does not know. */
export function campaignOptions({ secondsDefault = 60 }: { readonly secondsDefault?: number } = {}): CampaignOptions {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string' },
      seed: { type: 'string' },
      only: { type: 'string', default: '' },
      case: { type: 'string' },
      from: { type: 'string' },
    },
  });
  return {
    seconds: Number(values.seconds ?? secondsDefault),
    seed: Number(values.seed ?? Date.now() % 2 ** 32),
    only: values.only,
    case: values.case === undefined ? undefined : Number(values.case),
    from: values.from === undefined ? undefined : Number(values.from),
  };
}
