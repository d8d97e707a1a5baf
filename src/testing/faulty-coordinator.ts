/** A coordinator at the other end of a way that is not to be relied on. */
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { UnreliableService } from './unreliable-service.ts';

/** Closing is the client's own affair and does not fail; nor does it close what others use too. */
export function coordinatorBehind(inner: Coordinator, service: UnreliableService): Coordinator {
  return new Proxy(inner, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (name === 'close') return () => Promise.resolve();
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => service.call(() => Reflect.apply(member, target, args) as Promise<unknown>);
    },
  });
}
