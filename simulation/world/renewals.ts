// A host asks for its next certificates while an operator revokes it. In the end the host has as
// many active certificates as are allowed, and a revoked host none.

import { thingName } from '#core/contracts/topics.ts';
import { renewCertificate } from '#core/operations/hosts/renew-certificate.ts';
import type { Act } from '#simulation/world/acts.ts';
import { createSimulatedRegistry, type SimulatedRegistry } from '#simulation/world/aws/registry.ts';
import type { World } from '#simulation/world/world.ts';

const minuteMs = 60_000;
/** The queue delivers the message of a consumer that died again. */
const redeliveredMs = 30_000;
/** The consumer's function ends then. */
const timeoutMs = 10_000;
const certificatesMax = 3;

/** Sends a request, until a consumer has answered it. */
function renew(world: World, registry: SimulatedRegistry, hostname: string, csr: string): void {
  const { timeline } = world;
  const process = world.spawn('host-presence');
  const again = () =>
    timeline.at(timeline.now() + redeliveredMs, () => renew(world, registry, hostname, csr));
  let isOver = false;
  process.onDeath = again;
  timeline.at(timeline.now() + timeoutMs, () => isOver || timeline.kill(process));
  const answers = { send: () => timeline.effect(process, 'IoT publish', () => {}) };
  const client = registry.forProcess(process);
  const isUnmarked = world.isStripped('renewal looks for the mark of a revoked host');
  const renewal = {
    registry: isUnmarked ? { ...client, isRevoked: async () => false } : client,
    answers,
  };
  void renewCertificate(world.depsFor(process), renewal, hostname, { csr }, 1)
    .catch(again)
    .finally(() => {
      isOver = true;
    });
}

/** The operator repeats a command that died. */
async function revoke(world: World, registry: SimulatedRegistry, thing: string): Promise<void> {
  const process = world.spawn('operator');
  process.onDeath = () =>
    world.timeline.at(world.timeline.now() + minuteMs, () => void revoke(world, registry, thing));
  const client = registry.forProcess(process);
  await client.setRevoked(thing, true);
  await client.revokeAll(thing);
}

/** @param revokedAfterMs undefined without a revocation */
export function renewAtOnce(revokedAfterMs?: number): Act {
  return (world) => {
    const { timeline, settings, hosts, violate } = world;
    const hostname = String(hosts[0]?.name);
    const thing = thingName(settings.stage, hostname);
    const registry = createSimulatedRegistry(timeline, settings.stage, thing);
    const requests = [registry.request(), registry.request(), registry.request()];
    for (const csr of requests) renew(world, registry, hostname, csr);
    // The queue delivers one twice.
    renew(world, registry, hostname, String(requests[0]));
    if (revokedAfterMs !== undefined)
      timeline.at(timeline.now() + revokedAfterMs, () => void revoke(world, registry, thing));
    const allowed = revokedAfterMs === undefined ? certificatesMax : 0;
    timeline.at(timeline.now() + 20 * minuteMs, () => {
      const { length } = registry.active();
      if (length > allowed) violate('I11', `${thing} has ${length} active certificates`);
    });
  };
}
