// Runs one job at a time on each device, in order of request; jobs on other devices run in
// parallel.

export interface DeviceLocks {
  /** Waits for all earlier jobs on any of these addresses, then runs the work. */
  hold<T>(addresses: readonly string[], work: () => Promise<T>): Promise<T>;
}

export function createDeviceLocks(): DeviceLocks {
  const last = new Map<string, Promise<unknown>>();
  return {
    // The job is queued for all addresses at once, before the first await: this prevents
    // deadlocks.
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
