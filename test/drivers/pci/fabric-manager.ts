// NVIDIA's Fabric Manager as its program fmpm shows it: from the source of fmpm 1.0.1 and from the
// guide's return values. It was never compared with a true one.

import { deepStrictEqual as same } from 'node:assert';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Answer, Hardware } from '#agent/hardware/port.ts';
import type { DriverFault, FixtureHost } from '#test/drivers/fixture.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';

/** FM_ST_BADPARAM, FM_ST_IN_USE and FM_ST_UNINITIALIZED. */
const codes = { unknown: -1, inUse: -7, notActive: -4 } as const;

export class FabricManager {
  readonly active = new Set<number>();
  /** Its changes, such as `-a 1`. */
  readonly changes: string[] = [];
  readonly #partitions: ReadonlyMap<number, readonly number[]>;

  /** What the next change answers with. */
  fault: DriverFault | undefined;
  /** In place of its list. */
  listed: (() => Answer) | undefined;
  /** Changes succeed, and have no effect. */
  isIdle = false;

  /** @param partitions modules by the id of the partition */
  constructor(partitions: Readonly<Record<number, readonly number[]>>) {
    this.#partitions = new Map(
      Object.entries(partitions).map(([id, modules]) => [Number(id), modules]),
    );
  }

  readonly exec: Hardware['exec'] = async (_device, tool, args) => {
    same(tool, '/usr/bin/fmpm');
    const [verb = '', id = ''] = args[0] === '--hostname' ? args.slice(2) : args;
    if (verb === '-l') return this.listed?.() ?? this.#answer(0, JSON.stringify(this.list()));
    if (verb === '-v') return this.#answer(0, '1.0.1\n');
    const { code: fault } = this.fault ?? {};
    this.fault = undefined;
    if (fault === 'hangs') await new Promise(() => {});
    if (fault !== undefined) throw new HardwareError(fault, `fmpm ${verb} ${id}`);
    this.changes.push(`${verb} ${id}`);
    const code = this.isIdle ? 0 : this.#change(verb, Number(id));
    const what = verb === '-a' ? 'activate' : 'deactivate';
    return this.#answer(code, code === 0 ? '' : `Failed to ${what} partition. fmReturn: ${code}\n`);
  };

  list() {
    const partitionInfo = [...this.#partitions].map(([partitionId, modules]) => ({
      gpuInfo: modules.map((physicalId) => ({ pciBusId: '', physicalId, uuid: '' })),
      isActive: Number(this.active.has(partitionId)),
      numGpus: modules.length,
      partitionId,
    }));
    return { maxNumPartitions: 15, numPartitions: this.#partitions.size, partitionInfo };
  }

  #answer(exitCode: number, stdout: string) {
    return { exitCode: exitCode & 0xff, stdout, stderr: '' };
  }

  #change(verb: string, id: number): number {
    const modules = this.#partitions.get(id);
    if (!modules) return codes.unknown;
    if (verb === '-d') return this.active.delete(id) ? 0 : codes.notActive;
    const used = [...this.active].flatMap((each) => this.#partitions.get(each) ?? []);
    if (modules.some((each) => used.includes(each))) return codes.inUse;
    this.active.add(id);
    return 0;
  }
}

export const sets = [
  { functions: ['0000:0f:00.0', '0000:10:00.0'], partition: { id: 5, modules: [5, 7] } },
  { functions: ['0000:86:00.0', '0000:87:00.0'], partition: { id: 3, modules: [1, 3] } },
];

/** @param manager activates the partitions */
export function partitionedHost(manager: FabricManager): FixtureHost {
  const tree = aSysfsTree();
  for (const address of sets.flatMap(({ functions }) => functions)) {
    tree.addFunction({ address, product: '2330', classCode: '030200' });
  }
  return {
    root: tree.root,
    hardware: { exec: manager.exec },
    fault: (fault) => {
      manager.fault = fault;
    },
    isReading: (_tool, args) => args.includes('-l'),
    makeForeign: () => [5, 3].forEach((id) => void manager.active.add(id)),
    boot: () => manager.active.clear(),
    remove: () => tree.remove(),
  };
}
