// What the driver asks of nvme-cli, of a controller that answers as each case says, and what it
// must make of the answer. The recorder runs each case with the real program, and the test replays
// what that has printed.

import {
  bootPartitionBytes,
  commitFirmware,
  identify,
  listNamespaces,
  readFirmwareSlots,
  readNamespace,
  readSanitizeLog,
  run,
  type ToolDeps,
} from '#agent/drivers/nvme/tool.ts';

export interface NvmeCase {
  readonly name: string;
  /** Opcode and selector, as `06-01`, or `registers` → the bytes. */
  readonly answers: Readonly<Record<string, Buffer>>;
  /** Opcode → the status that ends its commands: `{ 10: 0x10b }`. */
  readonly statuses?: Readonly<Record<string, number>>;
  readonly act: (deps: ToolDeps) => Promise<unknown>;
  readonly expected: unknown;
}

/** Offset → bytes of a number, or a text. Field names: NVM Express Base Specification 1.4. */
function bytes(
  length: number,
  fields: Readonly<Record<number, readonly [number, number] | string>>,
) {
  const buffer = Buffer.alloc(length);
  for (const [offset, field] of Object.entries(fields)) {
    if (typeof field === 'string') buffer.write(field, Number(offset), 'latin1');
    else buffer.writeUIntLE(field[0], Number(offset), field[1]);
  }
  return buffer;
}

const controller = (unallocated: number) =>
  bytes(4096, {
    4: 'RECORDED-0001'.padEnd(20),
    24: 'Recorded SSD'.padEnd(40),
    64: '1.0'.padEnd(8),
    // CNTLID, OACS, FRMW, SANICAP, FNA.
    78: [4, 2],
    256: [0x1e, 2],
    260: [0x16, 1],
    328: [0x7, 4],
    524: [0x4, 1],
    // UNVMCAP.
    296: [unallocated, 6],
  });
const identity = {
  serial: 'RECORDED-0001',
  model: 'Recorded SSD',
  firmware: '1.0',
  id: 4,
  sanitizeCapabilities: 7,
  commands: 0x1e,
  formatAttributes: 4,
  firmwareUpdates: 0x16,
};

/** FLBAS 1, FPI: 30 % remain; LBA formats of 512 and 4096 bytes. */
const namespace = bytes(4096, {
  0: [1000, 6],
  25: [1, 1],
  26: [1, 1],
  32: [0x80 | 30, 1],
  130: [9, 1],
  134: [12, 1],
});

function sanitizeLog(name: string, sstat: number, state: string): NvmeCase {
  return {
    name: `sanitize log: ${name}`,
    // SPROG, SSTAT, SCDW10.
    answers: { '02-81': bytes(512, { 0: [0x8000, 2], 2: [sstat, 2], 4: [0xc, 4] }) },
    act: readSanitizeLog,
    expected: {
      state,
      percent: 50,
      isGloballyErased: (sstat & 0x100) !== 0,
      action: 4,
      isUnrestricted: true,
    },
  };
}

/** Statuses are those of the command, of type 1. Do Not Retry is bit 14. */
function commit(name: string, status: number, expected: string): NvmeCase {
  return {
    name: `firmware commit: ${name}`,
    answers: {},
    statuses: { 10: status },
    act: (deps) => commitFirmware(deps, 1000, { slot: 2, action: 3 }),
    expected,
  };
}

/** Its words and options must be those of the program. */
function command(name: string, ...[verb, ...args]: readonly [string, ...string[]]): NvmeCase {
  return {
    name,
    answers: { '06-01': controller(0), '06-00': namespace },
    act: async (deps) => {
      await run(deps, 1000, verb, ...args);
    },
    expected: undefined,
  };
}

export const nvmeCases: readonly NvmeCase[] = [
  {
    name: 'identify',
    answers: { '06-01': controller(1_000_204_886_016) },
    act: identify,
    expected: { ...identity, unallocated: 1_000_204_886_016 },
  },
  sanitizeLog('never', 0x0, 'never'),
  sanitizeLog('completed, nothing written since', 0x101, 'completed'),
  sanitizeLog('runs', 0x2, 'running'),
  sanitizeLog('failed', 0x3, 'failed'),
  sanitizeLog('completed, not deallocated', 0x4, 'completed'),
  {
    name: 'namespaces that are attached',
    answers: { '06-02': bytes(4096, { 0: [1, 4], 4: [7, 4] }) },
    act: (deps) => listNamespaces(deps),
    expected: [1, 7],
  },
  {
    name: 'namespaces that are allocated',
    answers: { '06-10': bytes(4096, { 0: [1, 4], 4: [7, 4], 8: [9, 4] }) },
    act: (deps) => listNamespaces(deps, true),
    expected: [1, 7, 9],
  },
  {
    name: 'namespace that is being formatted',
    answers: { '06-00': namespace, '06-01': controller(0) },
    act: (deps) => readNamespace(deps, 1),
    expected: { format: 1, blockSizes: [512, 4096], isFormatting: true },
  },
  {
    name: 'format that all namespaces share',
    answers: {
      '06-00': bytes(4096, { 25: [1, 1], 130: [9, 1], 134: [12, 1] }),
      '06-01': controller(0),
    },
    act: async (deps) => (await readNamespace(deps, 0xffffffff)).blockSizes,
    expected: [512, 4096],
  },
  {
    name: 'boot partitions',
    // CAP bit 45, VS, BPINFO.
    answers: { registers: bytes(4096, { 4: [0x2000, 4], 8: [0x10400, 4], 64: [0x80000002, 4] }) },
    act: bootPartitionBytes,
    expected: 2 * 128 * 1024,
  },
  {
    name: 'firmware slots',
    answers: { '02-03': bytes(512, { 0: [0x21, 1], 8: '1.0'.padEnd(8), 16: 'AB12\0\0\0\0' }) },
    act: readFirmwareSlots,
    expected: {
      running: 1,
      revisions: new Map([
        [1, '1.0'],
        [2, 'AB12'],
      ]),
    },
  },
  commit('done', 0, 'done'),
  commit('needs a conventional reset', 0x10b, 'power cycle'),
  commit('needs a reset of the subsystem', 0x4110, 'power cycle'),
  commit('needs a reset of the controller', 0x111, 'controller reset'),
  command('sanitize', 'sanitize', '--sanact=4'),
  command('overwrite', 'sanitize', '--sanact=3', '--owpass=1'),
  command('leave a failed sanitize', 'sanitize', '--sanact=1'),
  command(
    'format',
    ...(['format', '--namespace-id=1', '--lbaf=1', '--ses=2'] as const),
    ...['--force', '--timeout=60000'],
  ),
  command('delete namespaces', 'delete-ns', '--namespace-id=4294967295'),
  command('create a namespace', 'create-ns', '--nsze=1000', '--ncap=1000', '--flbas=1'),
  command('attach a namespace', 'attach-ns', '--namespace-id=1', '--controllers=4'),
  command('download', 'fw-download', '--fw=/dev/image'),
  command('commit a boot partition', 'fw-commit', '--slot=0', '--action=6', '--bpid=1'),
  command('reset', 'reset'),
];
