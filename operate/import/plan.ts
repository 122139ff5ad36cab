// The plan of an import: what is written, and for each thing that is not written, why. Pure: the
// same tables and facts give the same plan.

import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import type { ImportedDevice, ImportedServer } from '#core/domain/arq/imports.ts';
import type { Device } from '#core/domain/device/device.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import type { CyborgTables } from './cyborg-tables.ts';
import { planDevices } from './plan-devices.ts';
import { planProfiles } from './plan-profiles.ts';
import { planServers } from './plan-servers.ts';

/**
 * `import`: it is written. `present`: it is written already. `skip`: it is left out, and nothing
 * depends on it. `refuse`: nothing is imported until it is mended, or skipped by its name.
 */
export type Verdict = 'import' | 'present' | 'skip' | 'refuse';

export interface PlanRow {
  readonly what: 'profile' | 'device' | 'attribute' | 'server' | 'request';
  /** The name for `--skip`. */
  readonly name: string;
  readonly verdict: Verdict;
  readonly note: string;
  /** It cannot be skipped. */
  readonly isNeeded?: boolean;
}

/** A provider in Placement. */
export interface ProviderFacts {
  readonly name: string;
  /** The compute node at the root of its tree. */
  readonly node: string;
  readonly traits: readonly string[];
  readonly classes: readonly string[];
  /** Consumers with an allocation of it. */
  readonly consumers: readonly string[];
}

/** The rows of Placement, Nova and our own tables for the devices and servers of Cyborg. */
export interface CloudFacts {
  /** Compute nodes that Placement has, by name. */
  readonly nodes: ReadonlySet<string>;
  readonly providers: ReadonlyMap<string, ProviderFacts>;
  readonly servers: ReadonlyMap<string, ServerFacts>;
  readonly stored: {
    readonly profiles: readonly DeviceProfile[];
    readonly devices: readonly Device[];
    readonly bindings: ReadonlyMap<string, InstanceBinding>;
  };
}

export interface ServerFacts {
  readonly projectId: string;
  /** Null while the server is on no host; undefined where Nova does not say. */
  readonly host?: string | null | undefined;
}

export interface ImportPlan {
  readonly rows: readonly PlanRow[];
  readonly profiles: readonly DeviceProfile[];
  readonly devices: readonly ImportedDevice[];
  readonly servers: readonly ImportedServer[];
}

/**
 * @param skipped names of rows that the operator leaves out
 * @param now ISO 8601
 */
export function planImport(
  tables: CyborgTables,
  facts: CloudFacts,
  skipped: ReadonlySet<string>,
  now: string,
): ImportPlan {
  const profiles = planProfiles(tables, facts);
  const devices = planDevices(tables, facts, now);
  const servers = planServers(tables, facts, devices);
  const rows = [...profiles.rows, ...devices.rows, ...servers.rows].map((row) =>
    row.verdict === 'refuse' && !row.isNeeded && skipped.has(row.name)
      ? { ...row, verdict: 'skip' as const }
      : row,
  );
  const isImported = (name: string) =>
    rows.some((row) => row.name === name && ['import', 'present'].includes(row.verdict));
  return {
    rows,
    profiles: profiles.profiles.filter(({ name }) => isImported(name)),
    devices: devices.devices,
    servers: servers.servers,
  };
}

/** Names in `--skip` that no refused row has. */
export function unknownSkips(
  { rows }: ImportPlan,
  skipped: ReadonlySet<string>,
): readonly string[] {
  return [...skipped].filter((name) => !rows.some((row) => row.name === name));
}

export function refusedRows({ rows }: ImportPlan): readonly PlanRow[] {
  return rows.filter(({ verdict }) => verdict === 'refuse');
}
