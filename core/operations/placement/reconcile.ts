import type { ConsumerDeps } from '#core/consumer-deps.ts';

/** Each device is compared once in this time: of 6,000 devices a hundred each minute. */
const periodMinutes = 60;
const pageSize = 500;

/**
 * Has some of the devices compared with Placement, and drift repaired, for example after a change
 * by hand. Each minute of the hour has its share of uuids, so that no state is needed.
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

/** The first uuid of a minute's share; past the last minute, an end that no uuid reaches. */
function edge(minute: number): string {
  const first = Math.floor((minute / periodMinutes) * 2 ** 32);
  return minute === periodMinutes ? 'g' : first.toString(16).padStart(8, '0');
}
