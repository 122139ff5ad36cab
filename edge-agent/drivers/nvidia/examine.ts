// What driver `nvidia_gpu` assumes of NVIDIA's driver, and what this host shows of it.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Observation } from '#agent/drivers/contract/driver.ts';
import { reasonOf } from '#agent/log.ts';
import { readMdevParents } from '#agent/sysfs/mdev.ts';
import { readPciFunctionAt, readPciFunctions } from '#agent/sysfs/pci.ts';
import { readCardFacts } from './facts.ts';
import { isVgpu, type NvidiaSettings } from './settings.ts';
import { parseTypes } from './vfio.ts';

/** The script prints its usage, or refuses, at once. */
const scriptMs = 10_000;

export async function examineNvidia(
  settings: NvidiaSettings,
  context: DriverContext,
): Promise<readonly Observation[]> {
  const seen: Observation[] = [await examineVersion(context)];
  const divided = settings.cards.filter(isVgpu).flatMap(({ addresses }) => addresses);
  if (divided.length > 0) seen.push(await examineScript(settings, context));
  for (const address of settings.cards.flatMap((each) => each.addresses)) {
    seen.push(await examineCard(context, address));
    if (divided.includes(address)) seen.push(await examineDivision(context, address));
  }
  return seen;
}

async function examineVersion({ hardware }: DriverContext): Promise<Observation> {
  const text = await hardware.readProc('nvidia', 'driver/nvidia/version').catch(() => undefined);
  const [, version] = /\b(\d{3}\.\d{1,4}(?:\.\d{1,4})?)\b/.exec(text ?? '') ?? [];
  return version
    ? { outcome: 'seen', what: `NVIDIA's driver is of version ${version}.` }
    : { outcome: 'not seen', what: "NVIDIA's driver is not loaded, or does not show its version." };
}

/** Without a card, so that it changes nothing. */
async function examineScript(
  { sriov_manage: script }: NvidiaSettings,
  { hardware }: DriverContext,
): Promise<Observation> {
  try {
    await hardware.exec('nvidia', script, ['-h'], scriptMs);
    return { outcome: 'seen', what: `The script ${script} can be started.` };
  } catch (error) {
    const what = `The script ${script} cannot be started: ${reasonOf(error)}.`;
    return { outcome: 'not seen', what };
  }
}

async function examineCard(context: DriverContext, address: string): Promise<Observation> {
  const fn = readPciFunctionAt(context.sysfs, address);
  if (!fn) return { address, outcome: 'not seen', what: 'There is no card.' };
  const { model, uuid, firmware } = await readCardFacts(context, fn);
  const facts = [model, uuid, firmware && `video BIOS ${firmware}`].filter((each) => each);
  if (uuid) return { address, outcome: 'seen', what: `procfs shows it: ${facts.join(', ')}.` };
  const what = `procfs does not show its uuid; its driver is ${fn.boundDriver ?? 'none'}.`;
  return { address, outcome: 'not seen', what };
}

/** How the card makes vGPUs, and in which form it lists their types. */
async function examineDivision(
  { sysfs, hardware }: DriverContext,
  address: string,
): Promise<Observation> {
  const parents = readMdevParents(sysfs).filter(({ physical }) => physical === address);
  if (parents.length > 0) {
    return { address, outcome: 'seen', what: `It makes vGPUs as mdevs, on ${parents.length}.` };
  }
  const divided = readPciFunctions(sysfs, () => {}).filter(
    (fn) => fn.physicalFunction === address && sysfs.list(`${fn.path}/nvidia`) !== undefined,
  );
  const [first] = divided;
  if (!first) return { address, outcome: 'not seen', what: 'It shows no way to make vGPUs.' };
  try {
    const text = await hardware.readText(address, `${first.path}/nvidia/creatable_vgpu_types`);
    const form = describeForm(text);
    const outcome = form === undefined ? 'failed' : 'seen';
    const what =
      form === undefined
        ? 'Its list of types has an unknown form.'
        : `It makes vGPUs as types of ${divided.length} virtual functions, and lists ${form}.`;
    return { address, outcome, what };
  } catch (error) {
    const what = `Its list of types cannot be read: ${reasonOf(error)}.`;
    return { address, outcome: 'failed', what };
  }
}

/** Pure. Undefined if a line is neither a header nor a type. */
export function describeForm(text: string): string | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const isHeader = (line: string) => /^\s*ID\s*:/i.test(line);
  const rows = lines.filter((line) => !isHeader(line));
  if (rows.length === 0) return lines.length > 0 ? 'no type below its header' : 'nothing';
  if (parseTypes(rows.join('\n')).size !== rows.length) return undefined;
  const first = rows.every((line) => /^\s*\d+\s*:/.test(line)) ? 'number' : 'name';
  return `${rows.length} types, the ${first} first`;
}
