import { type Layout, urlOf } from '#local/process/layout.ts';

/** What nova-compute does when it starts: the compute node gets its resource provider. */
export async function announceHost(layout: Layout, hostname: string): Promise<void> {
  const response = await fetch(`${urlOf(layout, 'nova')}/v2.1/hosts`, {
    method: 'POST',
    headers: { 'X-Auth-Token': 'admin-token', 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: hostname }),
    signal: AbortSignal.timeout(10_000),
  });
  if (response.ok || response.status === 409) return;
  throw new Error(`The fake Nova refused host ${hostname}: ${await response.text()}`);
}
