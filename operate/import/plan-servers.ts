// Bound ARQs of running servers. A server is imported whole or not at all: with fewer accelerators
// than before, it would be rebooted without them. Pure.

import {
  type ImportedArq,
  type ImportedServer,
  importedBindId,
  importedCleanSeconds,
} from '#core/domain/arq/imports.ts';
import type { ArqUuid, InstanceUuid } from '#core/domain/ids.ts';
import { acceleratorsPerProfileMax } from '#core/domain/profile/device-profile.ts';
import type { CyborgArq, CyborgTables } from './cyborg-tables.ts';
import type { CloudFacts, PlanRow, Verdict } from './plan.ts';
import type { PlannedDevices } from './plan-devices.ts';
import { parseGroups } from './plan-profiles.ts';

/** Why an ARQ cannot be imported: a clause that completes "<server>: ...". */
class NotImportable extends Error {
  override readonly name = 'NotImportable';
}

interface Planned {
  readonly verdict: Verdict;
  readonly note: string;
  readonly server?: ImportedServer;
}

export function planServers(tables: CyborgTables, facts: CloudFacts, devices: PlannedDevices) {
  const rows: PlanRow[] = [];
  const servers: ImportedServer[] = [];
  const bound = tables.arqs.filter(({ instance_uuid }) => instance_uuid !== undefined);
  for (const [instance, arqs] of Map.groupBy(bound, (each) => each.instance_uuid ?? '')) {
    const { verdict, note, server } = planServer(instance, arqs, { tables, facts, devices });
    rows.push({ what: 'server', name: instance, verdict, note });
    if (server) servers.push(server);
  }
  for (const arq of tables.arqs.filter(({ instance_uuid }) => instance_uuid === undefined)) {
    const half =
      arq.attach_handle_id === undefined ? '' : ', and half deleted: its handle stays withheld';
    const note = `it is ${arq.state} and of no server${half}`;
    rows.push({ what: 'request', name: arq.uuid, verdict: 'skip', note });
  }
  return { rows, servers };
}

interface Sources {
  readonly tables: CyborgTables;
  readonly facts: CloudFacts;
  readonly devices: PlannedDevices;
}

function planServer(instance: string, arqs: readonly CyborgArq[], sources: Sources): Planned {
  const { facts } = sources;
  const binding = facts.stored.bindings.get(instance);
  if (binding) {
    const isOurs = binding.bindId === importedBindId(instance);
    return isOurs
      ? { verdict: 'present', note: `${arqs.length} ARQs on ${binding.hostname}` }
      : { verdict: 'skip', note: 'it has accelerators of this service' };
  }
  const server = facts.servers.get(instance);
  if (!server) {
    return {
      verdict: 'skip',
      note: 'Nova has no such server: its handles stay withheld until Placement has no allocation of it',
    };
  }
  if (server.host === null) {
    return {
      verdict: 'skip',
      note: 'Nova has it on no host: its handles stay withheld until Placement has no allocation of it',
    };
  }
  try {
    const imported = arqs.map((arq) => planArq(arq, instance, sources));
    const [hostname = '', ...others] = new Set(imported.map((each) => each.hostname));
    if (others.length > 0) throw new NotImportable(`its ARQs are on ${hostname} and ${others[0]}`);
    if (arqs.length > acceleratorsPerProfileMax) {
      throw new NotImportable(
        `it has ${arqs.length} ARQs; at most ${acceleratorsPerProfileMax} are allowed`,
      );
    }
    const note = `${arqs.length} ARQs on ${hostname}, project ${server.projectId}`;
    return {
      verdict: 'import',
      note,
      server: {
        instanceUuid: instance as InstanceUuid,
        hostname,
        projectId: server.projectId,
        arqs: imported.map((each) => each.arq),
      },
    };
  } catch (error) {
    if (!(error instanceof NotImportable)) throw error;
    return { verdict: 'refuse', note: error.message };
  }
}

/** @throws NotImportable */
function planArq(row: CyborgArq, instance: string, { tables, facts, devices }: Sources) {
  const arq = `ARQ ${row.uuid}`;
  if (row.state !== 'Bound') throw new NotImportable(`${arq} is ${row.state}, not Bound`);
  const handleId = row.attach_handle_id;
  if (handleId === undefined) throw new NotImportable(`${arq} has no attach handle`);
  const refusal = devices.refusals.get(handleId);
  if (refusal !== undefined) throw new NotImportable(`${arq} cannot be imported: ${refusal}`);
  const handle = devices.handles.get(handleId);
  if (!handle) throw new NotImportable(`${arq} names an attach handle that does not exist`);
  if (!tables.handles.find(({ id }) => id === handleId)?.in_use) {
    throw new NotImportable(`${arq} is half deleted: its attach handle is not marked as in use`);
  }
  if (handle.unclean !== undefined) {
    throw new NotImportable(
      `${arq} is Bound, but its device ${handle.unclean}: set device_state in Cyborg to what is true of the device`,
    );
  }
  const other = tables.arqs.find(
    (each) => each.attach_handle_id === handleId && each.id !== row.id,
  );
  if (other)
    throw new NotImportable(`${arq} has the attach handle that ARQ ${other.uuid} has, too`);
  if (row.device_rp_uuid?.toLowerCase() !== handle.providerUuid) {
    throw new NotImportable(
      `${arq} is bound to another resource provider than its attach handle's`,
    );
  }
  if (row.hostname !== handle.hostname) {
    throw new NotImportable(
      `${arq} is bound to ${row.hostname ?? 'no host'}, and its device is on ${handle.hostname}`,
    );
  }
  if (!facts.providers.get(handle.providerUuid)?.consumers.includes(instance)) {
    throw new NotImportable(
      `${arq} has no allocation in Placement: the tables may be older than the server's last change`,
    );
  }
  const profile = tables.profiles.find(({ id }) => id === row.device_profile_id);
  const group = profile && parseGroups(profile)?.[row.device_profile_group_id];
  if (!profile || !group)
    throw new NotImportable(`${arq} names a group of a profile that does not exist`);
  const { type, info, uuid } = handle;
  const imported: ImportedArq = {
    uuid: row.uuid.toLowerCase() as ArqUuid,
    deviceProfileName: profile.name,
    groupId: row.device_profile_group_id,
    group: Object.fromEntries(Object.entries(group).map(([key, value]) => [key, String(value)])),
    createdAt: row.created_at ?? new Date(0).toISOString(),
    providerUuid: handle.providerUuid,
    attachment: { handleUuid: uuid, type, info, cleanSeconds: importedCleanSeconds },
  };
  return { arq: imported, hostname: handle.hostname };
}
