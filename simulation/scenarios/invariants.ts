// Rules that hold after every step, and rules that hold once faults have ended for long enough.

import type { Arq, InstanceBinding } from '#core/domain/arq/arq.ts';
import type { AttachHandle } from '#core/domain/device/device.ts';
import type { AwaitedWork } from '#core/domain/host-work/host-work.ts';
import { wantedProviders } from '#core/domain/placement/provider-tree.ts';
import { wantedImage } from '#core/domain/profile/device-profile.ts';
import { toInstance } from '#core/store/rows/arq-rows.ts';
import { toHandle } from '#core/store/rows/handle-rows.ts';
import { toProgram, toRelease } from '#core/store/rows/host-work-rows.ts';
import { toDeployable, toDevice } from '#core/store/rows/inventory-rows.ts';
import { checkSets } from '#simulation/operations/pools.ts';
import { Violation } from '#simulation/violation.ts';
import { checkSummaries, createSummaryCheck } from '#simulation/world/rules/host-summaries.ts';
import { checkPlaces } from '#simulation/world/rules/limits/bounded-sets.ts';
import { checkHolds } from '#simulation/world/rules/limits/holds.ts';
import { checkQuotas, checkRecounted, storedArqs } from '#simulation/world/rules/limits/quotas.ts';
import { checkFree, checkHeld, checkReserved } from '#simulation/world/rules/limits/reserved.ts';
import { checkOfferedTwice } from '#simulation/world/rules/offered-twice.ts';
import { checkProfiles } from '#simulation/world/rules/profiles.ts';
import { checkPrograms, mayLast } from '#simulation/world/rules/programs.ts';
import { checkProviders } from '#simulation/world/rules/providers.ts';
import type { World } from '#simulation/world/world.ts';

/** The deadline of a bind, and three sweeps that may have died. */
const resolvedWithinMs = 240_000 + 3 * 60_000;

/** Two looks, with a message that comes again after a consumer died or stalled at each. */
const neverBuiltHeldMs = 5 * 60_000;

interface Stored {
  readonly arqs: ReadonlyMap<string, Arq>;
  readonly bindings: readonly InstanceBinding[];
  readonly releases: readonly AwaitedWork[];
  readonly handles: ReadonlyMap<string, AttachHandle>;
}

function read({ database }: World): Stored {
  const rows = database.rows('arqs');
  const of = <T>(prefix: string, decode: (row: Record<string, unknown>) => T) =>
    rows.filter(({ pk }) => String(pk).startsWith(prefix)).map(decode);
  const handles = database
    .rows('inventory')
    .filter(({ sk }) => String(sk).startsWith('HANDLE#'))
    .map(toHandle);
  return {
    arqs: new Map(storedArqs(database).map((arq) => [arq.uuid, arq])),
    bindings: of('INSTANCE#', toInstance),
    releases: [...of('RELEASE#', toRelease), ...of('PROGRAM#', toProgram)],
    handles: new Map(handles.map((handle) => [`${handle.providerUuid} ${handle.uuid}`, handle])),
  };
}

/** Checks I7 after each step; I1, I2 and L1 whenever a row has changed. */
export function createSafetyCheck(world: World): () => void {
  let checked = -1;
  const checkSummary = createSummaryCheck(world);
  return () => {
    checkForeignMdevs(world);
    checkNeverBuilt(world);
    if (world.database.version() === checked) return;
    checked = world.database.version();
    const stored = read(world);
    checkStored(world, stored);
    checkQuotas(world);
    checkPlaces(world);
    checkProfiles(world);
    checkSets(world);
    checkSummary();
    checkMade(world, stored);
  };
}

function checkForeignMdevs({ hosts }: World): void {
  for (const { name, hardware, foreignMdevs, isUp } of hosts) {
    if (isUp && ![...foreignMdevs].every((uuid) => hardware.mdevs.has(uuid))) {
      throw new Violation('I7', `${name} lost an mdev that is not ours`);
    }
  }
}

function checkStored(world: World, stored: Stored): void {
  const holders = new Map<string, string>();
  for (const arq of stored.arqs.values()) {
    const { binding } = arq;
    if (!binding?.attachment) {
      if (arq.state === 'Bound' || arq.state === 'BindStarted' || arq.state === 'provisioning') {
        throw new Violation('I2', `ARQ ${arq.uuid} is ${arq.state} without a handle`);
      }
      continue;
    }
    const key = `${binding.providerUuid} ${binding.attachment.handleUuid}`;
    const other = holders.get(key);
    if (other) throw new Violation('I1', `handle ${key} is held by ARQs ${other} and ${arq.uuid}`);
    holders.set(key, arq.uuid);
    const handle = stored.handles.get(key);
    if (handle?.claim?.arqUuid !== arq.uuid) {
      throw new Violation(
        'I2',
        `ARQ ${arq.uuid} is ${arq.state}, its handle has claim ${handle?.claim?.arqUuid ?? 'none'}`,
      );
    }
  }
  for (const { instanceUuid, bindId, arqUuids } of stored.bindings) {
    const lost = arqUuids.find((uuid) => stored.arqs.get(uuid)?.binding?.bindId !== bindId);
    if (lost)
      throw new Violation('I2', `instance ${instanceUuid} lists ARQ ${lost} of another bind`);
  }
  for (const [key, { claim }] of stored.handles) {
    if (claim && holders.get(key) !== claim.arqUuid) {
      throw new Violation(
        'I1',
        `handle ${key} is claimed by ARQ ${claim.arqUuid}, which holds another`,
      );
    }
  }
  checkReserved(world, stored.bindings);
  for (const { state, startedAt, instanceUuid } of stored.bindings) {
    const ageMs = world.timeline.now() - Date.parse(startedAt);
    if (state === 'BindStarted' && ageMs > resolvedWithinMs) {
      throw new Violation('L1', `instance ${instanceUuid} is BindStarted for ${ageMs / 1000} s`);
    }
  }
}

/**
 * The devices of a server that was deleted during its build are free long before the reaper would
 * find them.
 */
function checkNeverBuilt({ nova, timeline, database }: World): void {
  for (const server of nova.servers) {
    const { uuid, neverBuiltSince } = server;
    if (neverBuiltSince === undefined) continue;
    if (timeline.now() - neverBuiltSince < neverBuiltHeldMs) continue;
    delete server.neverBuiltSince;
    if (database.rows('arqs').some(({ pk }) => pk === `INSTANCE#${uuid}`))
      throw new Violation('L3', `instance ${uuid} was never built, but is still bound`);
  }
}

/** A host has the mdevs of instances that are Bound in its present boot. */
function checkMade(world: World, { arqs, bindings }: Stored): void {
  for (const { instanceUuid, state, bootId, hostname, arqUuids } of bindings) {
    const host = world.hosts.find(({ name }) => name === hostname);
    if (state !== 'Bound' || !host?.isUp || host.bootId() !== bootId) continue;
    for (const { binding } of arqUuids.flatMap((uuid) => arqs.get(uuid) ?? [])) {
      const { type, handleUuid = '' } = binding?.attachment ?? {};
      if (type !== 'MDEV' || host.hardware.mdevs.has(handleUuid)) continue;
      throw new Violation(
        'L2',
        `instance ${instanceUuid} is Bound, but ${hostname} lacks its mdev`,
      );
    }
  }
}

/** Checks L2 and L3, and that no dead-letter queue has a message. @throws Violation */
export function checkConvergence(world: World): void {
  const stored = read(world);
  const servers = new Map(world.nova.servers.map((server) => [server.uuid, server]));
  for (const binding of stored.bindings) {
    const server = servers.get(binding.instanceUuid);
    if (!server || server.status === 'DELETED') {
      throw new Violation('L3', `instance ${binding.instanceUuid} is deleted but still bound`);
    }
    if (binding.state === 'BindStarted' || binding.state === 'provisioning') {
      throw new Violation('L3', `instance ${binding.instanceUuid} stays ${binding.state}`);
    }
  }
  for (const arq of stored.arqs.values()) {
    const isKept =
      arq.binding && stored.bindings.some(({ arqUuids }) => arqUuids.includes(arq.uuid));
    if (!isKept)
      throw new Violation('L3', `ARQ ${arq.uuid} stays ${arq.state}, without an instance`);
  }
  checkHeld(world, stored.handles.values());
  for (const { uuid, status, hasLostArqs } of world.nova.servers) {
    const binding = stored.bindings.find(({ instanceUuid }) => instanceUuid === uuid);
    if (status === 'ACTIVE' && !binding && !hasLostArqs) {
      throw new Violation('L2', `${uuid} is ACTIVE, but its devices were released`);
    }
  }
  for (const server of world.nova.servers) {
    if (server.status === 'BUILD') throw new Violation('L2', `${server.uuid} stays in BUILD`);
  }
  for (const [arq, said] of world.openstack.eventsSent) {
    if (servers.get(arq.split(' ')[0] ?? '')?.hasLostArqs) continue;
    // A reboot of the host may end a completed bind. A failed bind never completes.
    if (said.indexOf('failed') !== -1 && said.lastIndexOf('completed') > said.indexOf('failed'))
      throw new Violation('L2', `Nova got contradicting events for ARQ ${arq}: ${said.join(', ')}`);
  }
  checkPrograms(world);
  for (const release of stored.releases) {
    const isEnded = release.quarantine !== undefined || mayLast(world, release);
    if (!isEnded) throw new Violation('L3', `release ${release.id} never ends`);
  }
  for (const { queue, body } of world.queues.dead) {
    throw new Violation('L3', `${queue} dead-lettered ${body.slice(0, 200)}`);
  }
  checkRecounted(world);
  for (const host of world.hosts) checkHost(world, host, stored);
  checkBoots(world, stored);
  checkQuarantine(world, stored);
  checkPresence(world);
  checkSummaries(world);
  checkRegions(world, stored);
  checkPlacement(world);
  checkFree(world);
  checkCards(world);
}

function checkHost(world: World, host: World['hosts'][number], stored: Stored): void {
  if (!host.isUp) return;
  const claimedMdevs = [...stored.handles.values()].filter(
    ({ type, claim, providerUuid }) =>
      type === 'MDEV' && claim && addressOn(world, providerUuid, host.name) !== '',
  );
  const bound = claimedMdevs.filter(
    ({ claim }) => stored.arqs.get(claim?.arqUuid ?? '')?.state === 'Bound',
  );
  for (const { uuid, isGone } of bound) {
    if (!isGone && !host.hardware.mdevs.has(uuid)) {
      throw new Violation('L3', `${host.name} lacks mdev ${uuid} of a Bound ARQ`);
    }
  }
  for (const uuid of host.hardware.mdevs.keys()) {
    if (host.foreignMdevs.has(uuid)) continue;
    const handle = [...stored.handles.values()].find((each) => each.uuid === uuid);
    const isExplained =
      handle?.claim ?? handle?.release ?? handle?.quarantine ?? handle?.restoredAt;
    if (handle && !isExplained) {
      throw new Violation('L3', `${host.name} has mdev ${uuid} of a free handle`);
    }
  }
}

/** What a host has prepared is Bound only under the boot that prepared it. */
function checkBoots({ database, hosts }: World, { arqs, bindings }: Stored): void {
  const rows = database.rows('inventory').filter(({ sk }) => sk === 'HOST');
  for (const { instanceUuid, state, bootId, hostname, arqUuids } of bindings) {
    const isUp = hosts.find(({ name }) => name === hostname)?.isUp;
    const reportedBootId = rows.find((row) => row.hostname === hostname)?.boot_id;
    if (state !== 'Bound' || !bootId || !isUp || bootId === reportedBootId) continue;
    const made = arqUuids.flatMap((uuid) => arqs.get(uuid) ?? []).filter(isMadeByHost);
    if (made.length > 0)
      throw new Violation('L3', `instance ${instanceUuid} is Bound by an old boot`);
  }
}

function isMadeByHost({ binding, group }: Arq): boolean {
  return binding?.attachment?.type === 'MDEV' || wantedImage(group) !== undefined;
}

/**
 * Every quarantine has a release in quarantine, and a reason that the host cannot remove itself.
 */
function checkQuarantine(world: World, { handles, releases }: Stored): void {
  const { hosts } = world;
  for (const { uuid, providerUuid, quarantine, release: id } of handles.values()) {
    const release = releases.find((each) => each.id === id);
    if (quarantine && !release?.quarantine) {
      throw new Violation('L3', `handle ${uuid} is in quarantine, but its release is not`);
    }
    const isForeign = hosts.some(({ foreignMdevs }) => foreignMdevs.has(uuid));
    if (quarantine?.includes('not created by this agent') && !isForeign) {
      throw new Violation('L3', `mdev ${uuid} is ours, but the agent does not know it`);
    }
    // One job cleans all handles of an instance on the host, and waits until all devices are
    // present.
    const providers = release?.handles.map((each) => each.providerUuid) ?? [providerUuid];
    const canClean = hosts.some(
      ({ name, isUp, hardware }) =>
        isUp &&
        !hardware.isBroken &&
        providers.every((each) => hardware.present.has(addressOn(world, each, name))),
    );
    if (quarantine && canClean && !isForeign) {
      throw new Violation('L3', `handle ${uuid} stays in quarantine: ${quarantine}`);
    }
  }
}

/** Checks presence, unless a presence event was lost. */
function checkPresence({ faults, hosts, database }: World): void {
  if (faults.counts.has('presence event lost') || faults.counts.has('IoT outage')) return;
  const rows = database.rows('inventory').filter(({ sk }) => sk === 'HOST');
  for (const { name, isUp } of hosts) {
    const row = rows.find(({ hostname }) => hostname === name);
    const presence = row?.presence as { is_connected: boolean } | undefined;
    if (isUp && presence?.is_connected !== true) {
      throw new Violation('L3', `${name} is connected but counts as disconnected`);
    }
  }
}

/** The region holds the image of each ARQ that is Bound with one. */
function checkRegions({ nova, hosts }: World, { arqs }: Stored): void {
  for (const { uuid, state, group, binding } of arqs.values()) {
    const image = wantedImage(group)?.value;
    const host = hosts.find(({ name }) => name === binding?.hostname);
    const server = nova.servers.find((each) => each.uuid === binding?.instanceUuid);
    if (state !== 'Bound' || !image || !host?.isUp || server?.status !== 'ACTIVE') continue;
    if (host.hardware.image !== image) {
      throw new Violation(
        'L3',
        `ARQ ${uuid} is Bound, but its region holds ${host.hardware.image}`,
      );
    }
  }
}

/** The address of the provider's device on the host; empty if the host has no such device. */
function addressOn({ database }: World, provider: string, hostname: string): string {
  const rows = database.rows('inventory');
  const row = rows.find(({ pk, sk }) => pk === `RP#${provider}` && sk === 'DEPLOYABLE');
  const device = row && rows.find(({ sk }) => sk === `DEVICE#${toDeployable(row).deviceUuid}`);
  return device && toDevice(device).hostname === hostname ? toDevice(device).address : '';
}

function checkPlacement(world: World): void {
  const { database, settings, disabled, holds } = world;
  const rows = database.rows('inventory');
  const devices = rows.filter(({ sk }) => String(sk).startsWith('DEVICE#')).map(toDevice);
  const expected = devices.flatMap((device) =>
    wantedProviders(
      device,
      device.providers.flatMap((uuid) => {
        const providerRows = rows.filter(({ pk }) => pk === `RP#${uuid}`);
        const deployable = providerRows.find(({ sk }) => sk === 'DEPLOYABLE');
        const handles = providerRows
          .filter(({ sk }) => String(sk).startsWith('HANDLE#'))
          .map(toHandle);
        return deployable ? [{ deployable: toDeployable(deployable), handles }] : [];
      }),
      settings,
    ),
  );
  for (const { uuid, isGone, providers, status } of devices) {
    const isHeld = rows.some(({ pk }) => providers.some((provider) => pk === `RP#${provider}`));
    if (isGone && !isHeld && status !== 'maintaining') {
      throw new Violation('L3', `device ${uuid} is gone, but its row stays`);
    }
  }
  for (const uuid of disabled) {
    if (devices.find((device) => device.uuid === uuid)?.status !== 'maintaining') {
      throw new Violation('L3', `device ${uuid} was disabled, but is not in maintenance`);
    }
  }
  for (const { uuid, deviceUuid, deviceStatus } of rows
    .filter(({ sk }) => sk === 'DEPLOYABLE')
    .map(toDeployable)) {
    const device = devices.find((each) => each.uuid === deviceUuid);
    if (!device) throw new Violation('L3', `deployable ${uuid} has no device`);
    if (deviceStatus !== device.status) {
      throw new Violation('L3', `deployable ${uuid} is ${deviceStatus}, not ${device.status}`);
    }
  }
  checkHolds(rows, devices, holds);
  checkOfferedTwice(world, rows, devices);
  const marked = rows.find(({ lost_providers }) => lost_providers !== undefined);
  if (marked) throw new Violation('L3', `${marked.hostname} has lost providers`);
  checkProviders(world, expected);
}

/** A card that moved is clean in the end, and offered again. */
function checkCards({ database }: World): void {
  const rows = database.rows('inventory').filter(({ sk }) => String(sk).startsWith('DEVICE#'));
  for (const { hostname, address, isGone, cardCleaning } of rows.map(toDevice)) {
    if (isGone || cardCleaning?.withheldSince === undefined) continue;
    throw new Violation('L3', `the card at ${address} of ${hostname} stays withheld`);
  }
}
