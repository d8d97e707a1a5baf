/** The process that `StoreProcess` starts: runs what its parent tells it to. */
import { storeCommands } from './store-commands.ts';

interface Call {
  readonly id: number;
  readonly name: keyof typeof storeCommands;
  readonly args: readonly unknown[];
}

async function answer({ id, name, args }: Call): Promise<void> {
  const command = storeCommands[name] as (...args: readonly unknown[]) => Promise<unknown>;
  try {
    process.send?.({ id, value: await command(...args) });
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    process.send?.({ id, error: { code, message } });
  }
}

process.on('message', (call: Call) => void answer(call));
process.send?.({ id: 0 });
