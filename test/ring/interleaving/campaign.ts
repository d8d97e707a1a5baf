/**
 * `npm run test:interleavings -- [--only <text>] [--seconds <number>]`: every order in which producer and WAL worker
 * can meet at their shared words, scenario by scenario, each for as long as given at most.
 */
import { campaignOptions } from '../../support/campaign-options.ts';
import { EveryOrder } from './explorer.ts';
import { explore } from './model.ts';
import { SCENARIOS } from './scenarios.ts';

const { seconds, only } = campaignOptions({ secondsDefault: 600 });

class BoundedOrders extends EveryOrder {
  readonly #end = performance.now() + 1_000 * seconds;
  complete = true;

  override next(): boolean {
    const more = super.next();
    if (more && performance.now() > this.#end) this.complete = false;
    return more && this.complete;
  }
}

for (const [name, scenario] of Object.entries(SCENARIOS).filter(([each]) => each.includes(only))) {
  const orders = new BoundedOrders();
  const started = performance.now();
  await explore(scenario, orders);
  const took = ((performance.now() - started) / 1_000).toFixed(1);
  console.log(`${name}: ${orders.complete ? 'all' : 'the first'} ${orders.runs} orders in ${took} s`);
}
