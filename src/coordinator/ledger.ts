/** What keeps the state and its manifest together: one that writes, and one that follows another process's writing. */
import type { Command } from './commands/decision.ts';
import type { State } from './state/state.ts';

/** A question to the state at a moment; it changes nothing. */
export type Query<Answer> = (state: State, now: number) => Answer;

export interface Ledger {
  /** Judges a command, and resolves with its answer once its events are durable. */
  change<Answer>(command: Command<Answer>): Promise<Answer>;
  /** Answers from durable state only. */
  read<Answer>(query: Query<Answer>): Promise<Answer>;
  /** Catches up with what others wrote before the call. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}
