// GPU instances of MIG, by the profiles that the settings name. nvidia-smi lists those that exist;
// missing ones are made while the card has no vGPU. None is ever removed.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { HostChange } from '#agent/drivers/contract/driver.ts';
import { readMdevs } from '#agent/sysfs/mdev.ts';
import { type PciFunction, readPciFunctionAt, virtualLinks } from '#agent/sysfs/pci.ts';

/** Without persistence mode, NVIDIA's driver starts the card first. */
const listMs = 10_000;
const makeMs = 60_000;

interface MigCard {
  readonly context: DriverContext;
  /** The program nvidia-smi. */
  readonly tool: string;
  readonly fn: PciFunction;
  /** A profile for each instance, as `-lgip` numbers them. */
  readonly profiles: readonly number[];
}

/** What the card lacks; undefined if it has exactly these instances. @throws HardwareError */
export async function planInstances(
  context: DriverContext,
  tool: string,
  address: string,
  profiles: readonly number[],
): Promise<HostChange | undefined> {
  const fn = readPciFunctionAt(context.sysfs, address);
  if (fn?.boundDriver !== 'nvidia') return undefined;
  const card = { context, tool, fn, profiles };
  const existing = await list(card);
  const missing = without(profiles, existing);
  const more = without(existing, profiles);
  if (missing.length + more.length === 0) return undefined;
  const [before, after] = [toText(existing), toText(profiles)];
  const difference = { address, what: 'profiles of GPU instances', before, after };
  const refusal = await refusalNow(card, more);
  return refusal === undefined
    ? { ...difference, apply: () => makeInstances(card) }
    : { ...difference, refusal: `${address} ${refusal}` };
}

/** An earlier run may have made some of them. */
async function makeInstances(card: MigCard): Promise<void> {
  const { fn, profiles } = card;
  const existing = await list(card);
  const refusal = await refusalNow(card, without(existing, profiles));
  if (refusal !== undefined) throw new Error(`${fn.address} ${refusal}`);
  const missing = without(profiles, existing);
  if (missing.length > 0) await run(card, ['-cgi', missing.join(',')], makeMs);
  const now = toText(await list(card));
  if (now !== toText(profiles)) throw new Error(`the profiles of GPU instances are ${now}`);
}

/** Why nothing may be made on the card now. */
async function refusalNow(
  { context: { sysfs, guards }, fn }: MigCard,
  more: readonly number[],
): Promise<string | undefined> {
  if (more.length > 0) return `has GPU instances that its entry lacks: ${toText(more)}`;
  const parents = [fn.address, ...virtualLinks(sysfs, fn).map(({ address }) => address)];
  const hasType = parents.some((address) => {
    const part = address === undefined ? undefined : readPciFunctionAt(sysfs, address);
    const type = part && sysfs.readAttribute(`${part.path}/nvidia/current_vgpu_type`);
    return type !== undefined && type !== '0';
  });
  // An mdev without a parent cannot be read, and may be on this card.
  const hasMdev = readMdevs(sysfs).some(({ parent }) => parent === '' || parents.includes(parent));
  if (hasType || hasMdev) return 'has vGPUs';
  return (await guards.heldBy([fn], false)).get(fn.address);
}

async function list(card: MigCard): Promise<readonly number[]> {
  const instances = parseInstances(await run(card, ['-lgi'], listMs));
  if (instances) return instances;
  throw new Error(`${card.tool} mig -lgi printed what is not valid for it`);
}

/** @throws HardwareError if the program does not end, and Error with its words if it fails */
async function run(
  { context: { hardware }, tool, fn: { address } }: MigCard,
  args: readonly string[],
  limitMs: number,
): Promise<string> {
  const answer = await hardware.exec(address, tool, ['mig', '-i', address, ...args], limitMs);
  const { exitCode, stdout, stderr } = answer;
  // A card without instances is an error to some releases.
  if (exitCode === 0 || isEmpty(stdout)) return stdout;
  const words = `${stderr}\n${stdout}`.trim().replaceAll(/[^\x20-\x7e]/g, ' ');
  throw new Error(`${tool} mig ${args[0]} ended with ${exitCode}: ${words.slice(0, 120)}`);
}

function isEmpty(text: string): boolean {
  return text.trim() === 'No GPU instances found: Not Found';
}

/** `|   0  MIG 3g.20gb          9        1          4:4     |` */
const row = /^\|\s+(\d{1,3})\s+MIG\s\S+\s+(\d{1,3})\s+\d{1,3}\s+\d{1,3}:\d{1,3}\s+\|$/;

/** Pure. The profile of each instance of one card; undefined for any other text. */
export function parseInstances(text: string): readonly number[] | undefined {
  if (isEmpty(text)) return [];
  const [title, names, more, ...rest] = text
    .trim()
    .split('\n')
    .filter((line) => !/^(\+-+\+|\|=+\|)$/.test(line));
  const hasHeader =
    /^\| GPU instances: +\|$/.test(title ?? '') &&
    /^\| GPU +Name +Profile +Instance +Placement +\|$/.test(names ?? '') &&
    /^\| +ID +ID +Start:Size +\|$/.test(more ?? '');
  const rows = rest.map((line) => row.exec(line));
  if (!hasHeader || rows.length === 0 || rows.some((each) => !each)) return undefined;
  if (new Set(rows.map((each) => each?.[1])).size > 1) return undefined;
  return rows.map((each) => Number(each?.[2]));
}

/** The first list without one entry for each of the second. */
function without(profiles: readonly number[], others: readonly number[]): number[] {
  const left = [...others];
  return profiles.filter((profile) => {
    const index = left.indexOf(profile);
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
}

function toText(profiles: readonly number[]): string {
  return profiles.length === 0 ? 'none' : profiles.toSorted((a, b) => a - b).join(', ');
}
