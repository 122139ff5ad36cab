// NVLink partitions: NVIDIA's Fabric Manager opens the links between the GPUs of a set while a
// server has the set. Which partitions are active is asked of its program fmpm each time.

import * as z from 'zod';
import type { UndatedHealth } from '#agent/drivers/contract/dated-health.ts';
import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Found, HandleWork, Prepared } from '#agent/drivers/contract/driver.ts';
import { absolutePath } from '#agent/drivers/contract/setting-forms.ts';
import { examineToolVersion } from '#agent/drivers/contract/tool-version.ts';
import { reasonOf } from '#agent/log.ts';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';

const hostnameIs = 'must be a name or an address, such as "192.168.122.2"';
export const fabricManager = z.strictObject({
  /** The program of https://github.com/NVIDIA/Fabric-Manager-Client. */
  tool: absolutePath.default('/usr/bin/fmpm'),
  /** The service VM in which the Fabric Manager runs; without it, this host. */
  hostname: z
    .string(hostnameIs)
    .regex(/^[a-zA-Z0-9][a-zA-Z0-9.:-]{0,127}$/, hostnameIs)
    .optional(),
});
export type FabricManager = z.infer<typeof fabricManager>;

const number = z.int('must be a whole number').min(0, 'must not be negative').max(255);
export const partition = z.strictObject({
  id: number,
  /** Module ids of the set's GPUs, which the Fabric Manager calls physical ids. */
  modules: z.array(number, 'must list module ids').min(1, 'must list module ids').max(16),
});

/** Functions that a server gets together, and their partition. */
export interface PartitionedSet {
  readonly functions: readonly string[];
  readonly partition: z.infer<typeof partition>;
}

/** fmpm itself waits one second for the connection. */
const lookMs = 10_000;
/** The Fabric Manager trains the links of up to 16 GPUs. */
const changeMs = 60_000;
/** A look, a change, and a look. */
export const partitionSeconds = 90;

const listOutput = z.object({
  partitionInfo: z
    .array(
      z.object({
        partitionId: number,
        isActive: z.literal([0, 1]),
        numGpus: number,
        /** From the H100 on, the Fabric Manager does not know the addresses. */
        gpuInfo: z.array(z.object({ physicalId: number, pciBusId: z.string().default('') })),
      }),
    )
    .max(256),
});
type Listed = z.infer<typeof listOutput>['partitionInfo'][number];

interface PartitionFaults {
  /** What is wrong with partitions, by the addresses of their sets' functions. */
  readonly reasons: ReadonlyMap<string, string>;
  /** What is wrong with the Fabric Manager, or with its program. */
  readonly fault?: UndatedHealth;
}

interface PartitionDeps extends Pick<DriverContext, 'hardware'> {
  readonly fabricManager: FabricManager;
  readonly sets: readonly PartitionedSet[];
  /** Handles of this driver that the agent has prepared, or is about to. */
  readonly prepared: DriverContext['prepared'];
  /** Why a function must not be touched now. */
  readonly recheck: (address: string) => Promise<string | undefined>;
}

export function createPartitions(deps: PartitionDeps) {
  const { hardware, sets, prepared, recheck } = deps;
  const { tool, hostname } = deps.fabricManager;
  const run = (device: string, args: readonly string[], limitMs: number) =>
    hardware.exec(
      device,
      tool,
      [...(hostname === undefined ? [] : ['--hostname', hostname]), ...args],
      limitMs,
    );
  /** Activated by this process: a self-test has no handles that the agent has prepared. */
  const activated = new Set<number>();

  const setOf = (handle: Pick<HandleWork, 'info'>) =>
    sets.find(({ functions }) => functions.includes(functionOf(handle)));
  const mustHaveSet = (handle: HandleWork): PartitionedSet => {
    const set = setOf(handle);
    if (!set) throw new Error(`The function ${functionOf(handle)} is in no set with a partition.`);
    return set;
  };
  /** Which other units of the set the agent holds ready for a server. */
  const othersHeld = ({ functions }: PartitionedSet, uuid: string) =>
    prepared().filter((each) => each.uuid !== uuid && functions.includes(functionOf(each)));

  /** @throws unless the program lists partitions in its form */
  async function list(): Promise<readonly Listed[]> {
    const { exitCode, stdout, stderr } = await run(tool, ['-l'], lookMs);
    if (exitCode !== 0) throw failed('-l', exitCode, `${stderr}\n${stdout}`);
    const listed = listOutput.safeParse(parseJson(stdout)).data;
    if (!listed) throw new Error(`${tool} -l printed what is not valid for it`);
    return listed.partitionInfo;
  }

  /** @throws unless the partition is that of the set */
  async function isActive(set: PartitionedSet): Promise<boolean> {
    const listed = await list();
    const difference = differenceOf(set, listed);
    if (difference !== undefined) {
      throw new Error(`Partition ${set.partition.id} ${difference}.`);
    }
    return listed.some((each) => each.partitionId === set.partition.id && each.isActive === 1);
  }

  async function change(set: PartitionedSet, verb: '-a' | '-d'): Promise<void> {
    const { id } = set.partition;
    // Not in the queue of the looks: a discovery must not wait for a change that hangs.
    const key = `partition ${id}`;
    const { exitCode, stdout, stderr } = await run(key, [verb, String(id)], changeMs);
    if (exitCode !== 0) throw failed(`${verb} ${id}`, exitCode, `${stderr}\n${stdout}`);
    const isExpected = (await isActive(set)) === (verb === '-a');
    if (isExpected) return;
    throw new Error(
      `${tool} ${verb} ${id} succeeded, and the partition is ${verb === '-a' ? 'not' : 'still'} active.`,
    );
  }

  async function checkUnused(functions: readonly string[]): Promise<void> {
    for (const address of functions) {
      const refusal = await recheck(address);
      if (refusal) throw new Error(`The device at ${address} ${refusal}.`);
    }
  }

  /** The program's end says little, so only its words are passed on. */
  function failed(args: string, exitCode: number, words: string): Error {
    const shown = words
      .trim()
      .replaceAll(/[^\x20-\x7e]/g, ' ')
      .slice(0, 120);
    return new Error(`${tool} ${args} failed with exit code ${exitCode}: ${shown}`);
  }

  return {
    setOf,
    examineTool: () =>
      examineToolVersion(hardware, {
        name: 'fmpm',
        program: tool,
        args: ['-v'],
        releases: undefined,
      }),
    check: async (): Promise<PartitionFaults> => {
      const reasons = new Map<string, string>();
      try {
        const listed = await list();
        for (const set of sets) {
          const difference = differenceOf(set, listed);
          if (difference === undefined) continue;
          const reason = `is in the set of partition ${set.partition.id}, which ${difference}`;
          for (const address of set.functions) reasons.set(address, reason);
        }
        return { reasons };
      } catch (error) {
        const reason = `cannot activate partitions: ${reasonOf(error)}`.slice(0, 200);
        return { reasons, fault: { state: 'unhealthy', reason } };
      }
    },
    find: async (handle: HandleWork): Promise<Found> => {
      const set = setOf(handle);
      if (!set) return { state: 'hardware' };
      if (!(await isActive(set))) return { state: 'absent' };
      const { id } = set.partition;
      const isPrepared = prepared().some(({ uuid }) => uuid === handle.uuid);
      const isOthers = othersHeld(set, handle.uuid).length > 0;
      if (isPrepared || (activated.has(id) && !isOthers)) return { state: 'ready' };
      if (isOthers) return { state: 'absent' };
      const what = `partition ${id}, which is active and which the agent has not activated`;
      return { state: 'other', what };
    },
    prepare: async (handle: HandleWork): Promise<Prepared> => {
      const set = mustHaveSet(handle);
      if (await isActive(set)) return {};
      await checkUnused(set.functions);
      await change(set, '-a');
      activated.add(set.partition.id);
      return {};
    },
    /** Deactivates the partition after the last unit of its set. */
    clean: async (handle: HandleWork): Promise<Evidence> => {
      const set = mustHaveSet(handle);
      const { id } = set.partition;
      const others = othersHeld(set, handle.uuid).length;
      if (others > 0) return { partition: id, deactivated: false, units_held: others };
      if (await isActive(set)) {
        await checkUnused(set.functions);
        await change(set, '-d');
      }
      activated.delete(id);
      return { partition: id, deactivated: true };
    },
  };
}

function functionOf({ info }: Pick<HandleWork, 'info'>): string {
  const { domain, bus, device, function: fn } = info;
  const parsed = parsePciAddress(`${domain}:${bus}:${device}.${fn}`);
  return parsed ? printPciAddress(parsed) : '';
}

/** In what the Fabric Manager's partition is not that of the set; a clause. */
function differenceOf(set: PartitionedSet, all: readonly Listed[]): string | undefined {
  const { id, modules } = set.partition;
  const [listed, another] = all.filter(({ partitionId }) => partitionId === id);
  if (!listed) return 'is not listed by the Fabric Manager';
  if (another) return 'is listed twice by the Fabric Manager';
  const { gpuInfo, numGpus } = listed;
  const physical = gpuInfo.map(({ physicalId }) => physicalId);
  if (numGpus !== physical.length) return 'is listed with GPUs that are not described';
  if (sorted(physical) !== sorted(modules)) {
    return `has the modules ${sorted(physical)} by the Fabric Manager, not ${sorted(modules)}`;
  }
  const strange = gpuInfo.find(({ pciBusId }) => pciBusId !== '' && !hasAddress(set, pciBusId));
  return strange && 'has a GPU of another address by the Fabric Manager';
}

function sorted(modules: readonly number[]): string {
  return modules.toSorted((a, b) => a - b).join(', ');
}

function hasAddress({ functions }: PartitionedSet, text: string): boolean {
  const parsed = parsePciAddress(text);
  return parsed !== undefined && functions.includes(printPciAddress(parsed));
}
