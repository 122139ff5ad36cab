import type { ConsumerDeps } from '../../consumer-deps.ts';

/**
 * Each device comes round once in so many minutes: a cloud of 6,000 has a hundred of them a
 * minute.
 */
const periodMinutes = 60;
const pageSize = 500;

/**
 * Has some of the devices compared with Placement, and mended where anybody has changed anything
 * by hand. Which ones follows from the time, so that nothing needs to be remembered: their uuids
 * are evenly spread, and each minute of the hour has its share of them.
 */
export async function reconcile(deps: ConsumerDeps): Promise<void> {
  const minute = Math.floor(deps.clock() / 60_000) % periodMinutes;
  const end = edge(minute + 1);
  let after = edge(minute);
  for (;;) {
    const page = await deps.listings.devicesAfter(after, pageSize);
    const due = page.filter((device) => device.uuid < end);
    const messages = due.flatMap(({ providers: [provider_uuid] }) =>
      provider_uuid ? [{ provider_uuid, counted_at: deps.clock() }] : [],
    );
    if (messages.length > 0) await deps.queues.send('provider-syncs', messages);
    const last = page.at(-1);
    if (page.length < pageSize || due.length < page.length || !last) return;
    after = last.uuid;
  }
}

/** Where a minute's share of all uuids begins; after the last one's nothing comes. */
function edge(minute: number): string {
  const first = Math.floor((minute / periodMinutes) * 2 ** 32);
  return minute === periodMinutes ? 'g' : first.toString(16).padStart(8, '0');
}
