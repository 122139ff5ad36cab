// One job at a time on each device, in the order in which they asked; others go on beside.

export interface DeviceLocks {
  /** Waits for all who asked before for any of these addresses, then works. */
  hold<T>(addresses: readonly string[], work: () => Promise<T>): Promise<T>;
}

export function createDeviceLocks(): DeviceLocks {
  const last = new Map<string, Promise<unknown>>();
  return {
    // Queued for all addresses at once, before anything is awaited: so nobody waits in a circle.
    hold: (addresses, work) => {
      const before = Promise.all(addresses.map((address) => last.get(address)));
      const held = before.then(work);
      const ended = held.catch(() => {});
      for (const address of addresses) last.set(address, ended);
      ended.then(() => {
        for (const address of addresses) if (last.get(address) === ended) last.delete(address);
      });
      return held;
    },
  };
}
