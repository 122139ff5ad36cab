// Which units of devices each server had when it last was defined with them. A server that runs
// without one has lost it. Kept over restarts and boots.

import * as z from 'zod';
import { type Log, reasonOf } from '#agent/log.ts';
import type { StateFiles } from '#agent/state/state-files.ts';

const serverRecordsFile = 'servers.json';
/** A server and a unit in each line, for edge-agent/libvirt-hook.sh. */
const listFile = 'servers.list';

const serverRecord = z.object({
  /** Address of a PCI function, or uuid of an mdev → its device, and since when it is seen. */
  units: z.record(z.string(), z.object({ device: z.string(), since: z.string() })),
  /** Unit → since when the running server lacks it; ISO 8601, as all times here. */
  lacks: z.record(z.string(), z.string()),
  /** Since when libvirt has no definition of it. */
  absent_since: z.string().optional(),
});
export type ServerRecord = z.infer<typeof serverRecord>;

const form = z.object({
  version: z.literal(1),
  servers: z.record(z.string(), serverRecord),
});
export type ServerRecords = Readonly<Record<string, ServerRecord>>;

export async function readServerRecords(files: StateFiles, log: Log): Promise<ServerRecords> {
  const text = await files.read(serverRecordsFile);
  if (text === undefined) return {};
  try {
    return form.parse(JSON.parse(text)).servers;
  } catch (error) {
    const kept = await files.keepAside(serverRecordsFile);
    log.warn('Records of servers unreadable', { kept, reason: reasonOf(error) });
    return {};
  }
}

export async function writeServerRecords(files: StateFiles, servers: ServerRecords): Promise<void> {
  const lines = Object.entries(servers).flatMap(([uuid, { units }]) =>
    Object.keys(units).map((unit) => `${uuid} ${unit}\n`),
  );
  await files.replace(listFile, lines.join(''));
  await files.replace(serverRecordsFile, JSON.stringify({ version: 1, servers }));
}
