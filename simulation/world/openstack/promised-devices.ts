// A server that becomes ACTIVE has its devices on its host and not only in the tables.

import { pciFunction } from '#core/shapes/attach-handle.ts';
import { toHost } from '#core/store/rows/host-rows.ts';
import type { Violate } from '#simulation/violation.ts';
import type { Host } from '#simulation/world/host.ts';
import type { NovaParts, Server, ShownArq } from './nova.ts';

/** L2: the server runs with all devices that were bound for it. */
export function checkDevices(parts: NovaParts, server: Server, uuids: readonly string[]): void {
  const { hosts, violate } = parts;
  // Another caller may have deleted the ARQs of the server; then the server may lack devices.
  if (server.hasLostArqs) return;
  const host = hosts.find(({ name }) => name === server.host);
  if (server.arqs.length !== uuids.length) {
    violate('L2', `${server.uuid} is ACTIVE with ${server.arqs.length} of ${uuids.length} ARQs`);
  }
  for (const arq of server.arqs) {
    if (arq.attach_handle_type === '' || !arq.attach_handle_uuid) {
      violate('L2', `${server.uuid} is ACTIVE, but ARQ ${arq.uuid} (${arq.state}) has no device`);
      continue;
    }
    if (!host?.isUp || !server.isBootKnown) continue;
    checkDevice(violate, server, host, arq);
  }
}

/** L2: a server starts again with all of its devices, or does not start. */
export function checkRestart(parts: NovaParts, server: Server, arqs: readonly ShownArq[]): void {
  if (server.hasLostArqs || server.status !== 'ACTIVE') return;
  if (arqs.some(({ attach_handle_type: type }) => type === ''))
    parts.violate('L2', `${server.uuid} reboots without its devices`);
  const uuids = server.arqs.map(({ uuid }) => uuid);
  server.arqs = arqs;
  checkDevices(parts, server, uuids);
}

/** The control plane knows the host's boot, or that its agent has connected since. */
export function isBootKnown(
  rows: readonly Readonly<Record<string, unknown>>[],
  host: Host,
): boolean {
  return rows
    .filter(({ pk, sk }) => pk === `HOST#${host.name}` && sk === 'HOST')
    .some((row) => {
      const { isConnected, at } = toHost(host.name, row).presence ?? {};
      const hasConnected = isConnected === true && Date.parse(at ?? '') >= host.bootedAtMs;
      return row.boot_id === host.bootId() || hasConnected;
    });
}

function checkDevice(violate: Violate, server: Server, host: Host, arq: ShownArq): void {
  const { mdevs, image, regionUsers } = host.hardware;
  if (arq.attach_handle_type === 'MDEV') {
    const mdev = mdevs.get(arq.attach_handle_uuid ?? '');
    if (!mdev) {
      violate('L2', `${server.uuid} is ACTIVE without mdev ${arq.attach_handle_uuid}`);
      return;
    }
    if (mdev.usedBy && mdev.usedBy !== server.uuid) {
      violate('I4', `mdev ${mdev.uuid} was not cleaned between ${mdev.usedBy} and ${server.uuid}`);
    }
    mdev.usedBy = server.uuid;
  }
  const group = server.profile.groups[arq.device_profile_group_id];
  const { board, card, units } = host.hardware;
  if (units && units.unconfirmed === pciFunction({ info: arq.attach_handle_info })) {
    violate('I12', `${server.uuid} is ACTIVE with an unconfirmed card of a pool`);
  }
  if (group?.['resources:CUSTOM_CARD'] && card) {
    if (card.usedBy && card.usedBy !== server.uuid) {
      violate('I4', `the card was not cleaned between ${card.usedBy} and ${server.uuid}`);
    }
    card.usedBy = server.uuid;
    if (card.isUnconfirmed) violate('I12', `${server.uuid} is ACTIVE with an unconfirmed card`);
  }
  if (group?.['resources:FPGA']) regionUsers.add(server);
  if (group?.['resources:CUSTOM_BOARD'] && board) {
    if (board.isTorn || (board.written !== undefined && !board.isGivenUp)) {
      violate('I10', `${server.uuid} is ACTIVE with a device whose program has not ended well`);
    }
    board.users.add(server);
  }
  const bitstreamId = group?.['accel:bitstream_id'];
  if (bitstreamId && image !== bitstreamId) {
    violate('L2', `${server.uuid} is ACTIVE, its region holds ${image} and not ${bitstreamId}`);
  }
}

/** The guest of the server is destroyed. */
export function leaveDevices(hosts: readonly Host[], server: Server): void {
  for (const { hardware } of hosts) {
    hardware.regionUsers.delete(server);
    hardware.board?.users.delete(server);
  }
}
