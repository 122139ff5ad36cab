// Servers that start while the agent of their host comes back after a boot, and servers of a host
// that is revoked.

import {
  bindSpare,
  boot,
  createSpare,
  deleteLast,
  inTurn,
  loseImages,
  reboot,
} from '#simulation/world/acts.ts';
import { renewAtOnce } from '#simulation/world/renewals.ts';
import { enrolHosts, revokeHosts } from '#simulation/world/rules/revoked-hosts.ts';
import type { World } from '#simulation/world/world.ts';
import type { Operation } from './operations.ts';

/** nova-compute starts before the agent, and lists the ARQs of its servers. */
function startServers({ nova }: World): void {
  for (const server of nova.servers) if (server.status === 'ACTIVE') void nova.hardReboot(server);
}

/** The host is down for 2 s; then its agent connects. */
const startAfterBoot = inTurn(
  inTurn(reboot, 2000, startServers),
  500,
  inTurn(startServers, 2000, startServers),
);

const minuteMs = 60_000;
const revokeAndEnrol = inTurn(revokeHosts, 4 * minuteMs, enrolHosts);

export const startOperations: Readonly<Record<string, Operation>> = {
  'start servers while their host boots': {
    about: ['host', 'instance'],
    prepare: inTurn(boot('all'), 30_000, loseImages),
    prepareMs: 31_000,
    act: startAfterBoot,
  },
  'start servers while their host boots, first report late': {
    about: ['host', 'instance'],
    prepare: inTurn(boot('all'), 30_000, loseImages),
    prepareMs: 31_000,
    act: (world) => {
      world.stall('inventory-reports', 'DynamoDB', 8000);
      startAfterBoot(world);
    },
  },
  'revoke the host of a server with a vGPU': {
    about: ['host'],
    prepare: boot('vgpu'),
    act: revokeAndEnrol,
  },
  'bind a vGPU of a revoked host': {
    about: ['host'],
    prepare: inTurn(boot('vgpu'), 10_000, inTurn(createSpare, 5000, revokeHosts)),
    prepareMs: 4 * minuteMs,
    act: inTurn(bindSpare, 3 * minuteMs, enrolHosts),
  },
  'release a vGPU of a revoked host': {
    about: ['host'],
    prepare: inTurn(boot('vgpu'), 20_000, revokeHosts),
    prepareMs: 4 * minuteMs,
    act: inTurn(deleteLast, 10 * minuteMs, enrolHosts),
    quiescenceMs: 50 * minuteMs,
  },
  'revoke the host while it releases a vGPU': {
    about: ['host'],
    prepare: boot('vgpu'),
    act: (world) => {
      world.stall('agent', 'device mdev remove', 4 * minuteMs);
      inTurn(deleteLast, 3000, inTurn(revokeHosts, 10 * minuteMs, enrolHosts))(world);
    },
    quiescenceMs: 50 * minuteMs,
    // The job ends but once.
    rates: {},
  },
  'enrol a revoked host after a reboot': {
    about: ['host', 'instance'],
    prepare: inTurn(inTurn(boot('vgpu'), 20_000, revokeHosts), 3 * minuteMs, reboot),
    prepareMs: 5 * minuteMs,
    act: enrolHosts,
  },
  'renew certificates of a host at once': { about: [], act: renewAtOnce() },
  'revoke a host that renews certificates': { about: [], act: renewAtOnce(20) },
};

/** Beside these operations. */
export const concurrentStartOperations: Readonly<
  Record<string, Pick<Operation, 'about' | 'act'> & { readonly of: readonly string[] }>
> = {
  'revoke the host and enrol it again': {
    about: ['host'],
    of: ['bind a vGPU', 'release a vGPU', 'send a heartbeat', 'reboot the host'],
    act: revokeAndEnrol,
  },
};
