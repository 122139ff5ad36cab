// vGPUs of NVIDIA's vendor-specific VFIO framework: virtual functions that have a type of vGPU
// instead of an mdev. The driver decides on it by kernel and release, so that the host's files
// decide, never the model. https://docs.nvidia.com/vgpu/, "vendor-specific VFIO framework"
//
// The type of a function is set under a record on disk: what another program has set is neither
// offered nor cleared.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { HostChange } from '#agent/drivers/contract/driver.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { type PciFunction, readPciFunctionAt, readPciFunctions } from '#agent/sysfs/pci.ts';
import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import { type Records, recordName, toRecords } from './records.ts';
import type { VgpuCards } from './settings.ts';

/** A virtual function, and the number of its type; `0` for none. */
interface Divided {
  readonly fn: PciFunction;
  readonly current: string;
}

export interface VendorVgpus {
  /** Whether the card is divided by types of its virtual functions. */
  isUsed(card: string): boolean;
  /** The driver's name of the type, recorded because a full card lists no types. */
  nameOf(card: string, type: string): Promise<string | undefined>;
  /** Addresses of the functions with the type, or a clause why none is offered. */
  offered(card: string, type: string): Promise<readonly string[] | string>;
  /** Forgets what was offered of cards that the settings no longer name. */
  keepOnly(cards: ReadonlySet<string>): Promise<void>;
  plan(card: string, cards: VgpuCards): Promise<readonly HostChange[]>;
  /** Clears the type and sets it again. */
  recreate(card: string, address: string, type: string): Promise<Evidence>;
}

export function createVendorVgpus(context: DriverContext): VendorVgpus {
  const { sysfs, hardware, guards, bootId, directory } = context;
  const files = openStateFiles(directory);
  let cached: Promise<Records> | undefined;
  /** Functions whose type a job is clearing and setting: they stay offered. */
  const recreated = new Set<string>();

  const cardFunctions = (card: string) =>
    readPciFunctions(sysfs, () => {}).filter((fn) => fn.physicalFunction === card && isDivided(fn));
  const isDivided = ({ path }: PciFunction) =>
    sysfs.list(`${path}/nvidia`)?.includes('current_vgpu_type') ?? false;

  const records = () => {
    cached ??= files.read(recordName).then((text) => toRecords(text, bootId));
    return cached;
  };
  const keep = async ({ types, names, offered }: Records) => {
    const kept = {
      types: Object.fromEntries(types),
      names: Object.fromEntries(names),
      offered: Object.fromEntries(offered),
    };
    await files.replace(recordName, JSON.stringify({ boot_id: bootId, ...kept }));
  };
  const note = async (address: string, type: string) => {
    const now = await records();
    if (now.types.get(address) === type) return;
    now.types.set(address, type);
    await keep(now);
  };

  const read = async (card: string, fn: PciFunction) => {
    const text = await hardware.readText(card, `${fn.path}/nvidia/current_vgpu_type`);
    if (!/^\d{1,6}$/.test(text)) throw new Error(`${fn.address} has an unknown vGPU type`);
    return text;
  };
  const readAll = async (card: string): Promise<Divided[]> => {
    const divided: Divided[] = [];
    for (const fn of cardFunctions(card)) divided.push({ fn, current: await read(card, fn) });
    return divided;
  };
  const isOurs = async ({ fn, current }: Divided) => {
    const { types } = await records();
    return current === '0' || types.get(fn.address) === current;
  };
  const findForeign = async (all: readonly Divided[]) => {
    for (const each of all) if (!(await isOurs(each))) return each;
    return undefined;
  };

  /**
   * Functions that the agent never offered and that servers or programs may have. A card of which
   * none was offered is refused with them: they share its room.
   */
  const usesOn = async (all: readonly Divided[]) => {
    const { offered } = await records();
    const unseen = all.map(({ fn }) => fn).filter(({ address }) => !offered.has(address));
    const { held, unknown } = await guards.ofServers(unseen);
    const open = await guards.heldBy(unseen, false);
    const reasons = unseen.flatMap(({ address }) => {
      const reason =
        held.get(address) ?? open.get(address) ?? (unknown && `may be in use: ${unknown}`);
      return reason === undefined ? [] : [[address, reason] as const];
    });
    const [first] = unseen.length === all.length ? reasons : [];
    return {
      held: new Map(reasons),
      refusal: first && `has the virtual function ${first[0]}, which ${first[1]}`,
    };
  };

  const refusalOfClearing = async (each: Divided) => {
    if (!(await isOurs(each))) return 'another program has set it';
    const { address } = each.fn;
    if (recreated.has(address)) return 'a job is recreating it';
    return (await guards.heldBy([each.fn], false)).get(address);
  };

  /** Writes may be accepted without an effect. */
  const write = async (card: string, fn: PciFunction, number: string) => {
    const file = `${fn.path}/nvidia/current_vgpu_type`;
    await hardware.writeText(card, file, number);
    const now = await read(card, fn);
    if (now !== number) throw new Error(`the vGPU type of ${fn.address} is ${now}, not ${number}`);
  };
  const creatable = async (fn: PciFunction, card: string) =>
    parseTypes(await hardware.readText(card, `${fn.path}/nvidia/creatable_vgpu_types`));

  const noteName = async (number: string, name: string | undefined) => {
    const now = await records();
    if (!name || now.names.get(number) === name) return;
    now.names.set(number, name);
    await keep(now);
  };

  /** A guest that has the function expects that type. */
  const offeredAsOther = async ({ address }: PciFunction, number: string) => {
    const before = (await records()).offered.get(address);
    return before && functionNumber(before.type) !== number ? before.type : undefined;
  };

  /** Sets the type of one function after the other until the card is full. */
  const fill = async (card: string, number: string) => {
    const all = await readAll(card);
    const { held, refusal } = await usesOn(all);
    if (refusal !== undefined) throw new Error(`${card} ${refusal}`);
    for (const each of all) {
      if (each.current !== '0' || recreated.has(each.fn.address)) continue;
      if (held.has(each.fn.address)) continue;
      if (await offeredAsOther(each.fn, number)) continue;
      const name = (await creatable(each.fn, card)).get(number);
      if (name === undefined) return;
      await noteName(number, name);
      await note(each.fn.address, number);
      await write(card, each.fn, number);
    }
  };

  return {
    isUsed: (card) => cardFunctions(card).length > 0,

    nameOf: async (card, type) => {
      const { names } = await records();
      const number = functionNumber(type);
      const [first] = cardFunctions(card);
      if (names.has(number) || !first) return names.get(number);
      await noteName(number, (await creatable(first, card)).get(number));
      return names.get(number);
    },

    offered: async (card, type) => {
      const all = await readAll(card);
      const foreign = await findForeign(all);
      if (foreign) return foreignText(foreign);
      const { held, refusal } = await usesOn(all);
      if (refusal !== undefined) return refusal;
      const number = functionNumber(type);
      const addresses = all
        .filter(({ fn, current }) => current === number || recreated.has(fn.address))
        .filter(({ fn }) => !held.has(fn.address))
        .map(({ fn }) => fn.address)
        .sort();
      const now = await records();
      const isKnown = (address: string) => now.offered.get(address)?.type === type;
      if (!addresses.every(isKnown)) {
        for (const address of addresses) now.offered.set(address, { card, type });
        await keep(now);
      }
      return addresses;
    },

    keepOnly: async (cards) => {
      const now = await records();
      const gone = [...now.offered].filter(([, { card }]) => !cards.has(card));
      for (const [address] of gone) now.offered.delete(address);
      if (gone.length > 0) await keep(now);
    },

    plan: async (card, { vgpu_type: type }) => {
      const number = functionNumber(type);
      const all = await readAll(card);
      const what = 'vGPU type';
      const changes: HostChange[] = [];
      for (const each of all.filter(({ current }) => current !== number)) {
        const { address } = each.fn;
        const isFree = each.current === '0';
        const offeredAs = await offeredAsOther(each.fn, number);
        if (isFree && !offeredAs) continue;
        const before = isFree ? 'none' : `nvidia-${each.current}`;
        const difference = { address, what, before, after: type };
        const refusal = offeredAs
          ? `it is offered to guests as ${offeredAs}: take the card out of the settings first`
          : await refusalOfClearing(each);
        changes.push(
          refusal === undefined
            ? { ...difference, apply: () => write(card, each.fn, '0') }
            : { ...difference, refusal },
        );
      }
      const made = all.filter(({ current }) => current === number).length;
      const refused = new Set(changes.map(({ address }) => address));
      const uses = await usesOn(all);
      const kept = uses.refusal === undefined ? uses.held : new Map<string, string>();
      const isFree = ({ fn: { address }, current }: Divided) =>
        current === '0' && ![recreated, refused, kept].some((each) => each.has(address));
      const free = all.find(isFree);
      if (!free || !(await creatable(free.fn, card)).has(number)) return changes;
      const difference = {
        address: card,
        what: `number of vGPUs of type ${type}`,
        before: String(made),
        after: 'as many as fit',
      };
      const foreign = await findForeign(all);
      const reason = foreign ? foreignText(foreign) : uses.refusal;
      changes.push(
        reason === undefined
          ? { ...difference, apply: () => fill(card, number) }
          : { ...difference, refusal: `${card} ${reason}` },
      );
      return changes;
    },

    recreate: async (card, address, type) => {
      const fn = readPciFunctionAt(sysfs, address);
      if (!fn || fn.physicalFunction !== card) throw new Error(`${address} is no longer there`);
      const number = functionNumber(type);
      const current = await read(card, fn);
      if (!(await isOurs({ fn, current }))) throw new Error(foreignText({ fn, current }));
      recreated.add(address);
      try {
        await note(address, number);
        if (current !== '0') await write(card, fn, '0');
        await write(card, fn, number);
        return { cleared: current !== '0', vgpu_type: type };
      } finally {
        recreated.delete(address);
      }
    },
  };
}

function foreignText({ fn, current }: Divided): string {
  return `has the vGPU type ${current} on ${fn.address}, which another program has set`;
}

function functionNumber(type: string): string {
  return type.replace(/^nvidia-/, '');
}

/** Pure. Rows are `1145  : NVIDIA L40S-1B`, below a header, or `NVIDIA A40-2Q   558`. */
export function parseTypes(text: string): ReadonlyMap<string, string> {
  const types = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, first, name] = /^\s*(\d{1,6})\s*:\s*(\S.*?)\s*$/.exec(line) ?? [];
    if (first && name) types.set(first, name);
    const [, earlier, last] = /^\s*(\S.*?)\s+(\d{1,6})\s*$/.exec(line) ?? [];
    if (!first && earlier && last) types.set(last, earlier);
  }
  return types;
}
