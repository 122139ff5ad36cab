// What driver `intel_fpga` finds of one card, and what its regions hold.

import { offeredAddresses } from '#agent/drivers/pci/index.ts';
import type { Serials } from '#agent/drivers/pci/naming/serials.ts';
import { checkImage, type GbsImage } from '#agent/images/image-check.ts';
import { reasonOf } from '#agent/log.ts';
import { type PciFunction, readPciFunctionAt } from '#agent/sysfs/pci.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { describeCard, type OfferedRegion } from './describe.ts';
import {
  type CardFacts,
  type Engine,
  type Port,
  readEngine,
  readFunction,
  readPorts,
} from './engines.ts';
import { readHealth } from './errors.ts';
import type { KnownCard } from './known.ts';
import { type PortsDeps, virtualAddresses } from './ports.ts';
import type { IntelFpgaCards } from './settings.ts';

export interface DiscoveryDeps extends PortsDeps {
  readonly serials: Serials;
  /** When the driver began to look. */
  readonly since: string;
  /** What the last discovery said, for a card that is being programmed. */
  readonly healthBefore: Map<string, ReportedDevice['health']>;
}

interface CardQuery {
  readonly address: string;
  readonly cards: IntelFpgaCards;
  /** The card as driver `pci` offers its functions; undefined if it offers none. */
  readonly offered: ReportedDevice | undefined;
  /** A job programs or cleans the card: its registers are not read, as the kernel locks them. */
  readonly isBusy: boolean;
}

/** The device; or why it is not offered; or undefined where driver `pci` says why. */
export async function discoverCard(
  deps: DiscoveryDeps,
  query: CardQuery,
): Promise<ReportedDevice | string | undefined> {
  const { context, settings, records } = deps;
  const { address, cards, isBusy } = query;
  const fn = readPciFunctionAt(context.sysfs, address);
  if (!fn) return 'is not on this host';
  const engine = isBusy ? undefined : await readEngine(context, fn);
  const before = await records.card(fn);
  const facts = engine ?? before;
  if (!facts) return 'shows no management engine, as on another driver than dfl-pci or intel-fpga';
  const refusal = settingRefusal(deps, cards, facts, engine);
  if (refusal !== undefined) return refusal;
  const blank = await blankImage(deps, facts);
  if (typeof blank === 'string') return blank;
  const missing = engine && toolRefusal(deps, engine, blank);
  if (missing !== undefined) return `cannot be cleaned after a guest: ${missing}`;
  const isAway = isBusy || (before?.away !== undefined && before.away === context.bootId);
  const places = cards.virtual_functions
    ? offeredFunctions(deps, query, fn, facts, isAway ? before : undefined)
    : query.offered || isBusy
      ? [address]
      : undefined;
  if (places === undefined || typeof places === 'string') return places;
  const existing = virtualAddresses(context, fn);
  // A guest with the whole card may replace its static region: the first one stays known.
  const isComplete = existing.length === (cards.virtual_functions ? engine?.ports : 0);
  if (engine && isComplete && (cards.virtual_functions || !before)) {
    await records.remember(fn, engine, existing);
  }
  const ports = engine ? await readPorts(context, fn) : [];
  const regions: OfferedRegion[] = [];
  for (const [port, function_] of places.entries()) {
    if (function_ === undefined) continue;
    const content = await readContent(deps, address, port, ports, blank);
    regions.push({ port, address: function_, content });
  }
  if (engine) {
    deps.healthBefore.set(address, await readHealth(context, engine, ports, deps.since));
  }
  const identity = (await deps.serials.read([fn])).get(address);
  const health = deps.healthBefore.get(address);
  const { traits } = cards;
  return describeCard(context, settings, { fn, facts, regions, traits, identity, health });
}

function settingRefusal(
  { settings }: DiscoveryDeps,
  { virtual_functions: isVirtual }: IntelFpgaCards,
  { ports }: CardFacts,
  engine: Engine | undefined,
): string | undefined {
  if (isVirtual) return undefined;
  if (ports > 1) return `has ${ports} ports, which are offered by virtual_functions alone`;
  if (engine?.stack === 'intel-fpga' && settings.clean === 'reset') {
    return 'is on the driver intel-fpga, whose ports are not reset: set clean to blank';
  }
  return undefined;
}

/** Undefined where none is needed. */
async function blankImage(
  { settings: { clean, blank_images: images } }: DiscoveryDeps,
  { interface: id }: CardFacts,
): Promise<GbsImage | string | undefined> {
  if (clean !== 'blank') return undefined;
  const path = images.get(id);
  if (path === undefined) return `has interface ${id}, for which blank_images names no image`;
  try {
    return await checkImage(path, id);
  } catch (error) {
    return `cannot be blanked after a guest: ${path}: ${reasonOf(error)}`;
  }
}

/** What writes the blank image, or resets the port of a whole card. */
function toolRefusal(
  { settings: { clean, fpgaconf }, context: { hardware } }: DiscoveryDeps,
  { stack, ports }: Engine,
  blank: GbsImage | undefined,
): string | undefined {
  if (clean === 'none') return undefined;
  const isByTool = blank && (stack === 'intel-fpga' || blank.userClocks.length > 0);
  if (!isByTool) {
    return hardware.isInstalled() ? undefined : "the agent's helper is not installed";
  }
  if (!hardware.isInstalled(fpgaconf)) return `${fpgaconf} is not installed`;
  return ports > 1 ? `${fpgaconf} writes port 0 alone, of ${ports}` : undefined;
}

/** Addresses of what is offered, by port; undefined for a port whose function is refused. */
function offeredFunctions(
  { context }: DiscoveryDeps,
  { offered, isBusy }: CardQuery,
  fn: PciFunction,
  { ports }: CardFacts,
  away: KnownCard | undefined,
): readonly (string | undefined)[] | string | undefined {
  const existing = virtualAddresses(context, fn);
  if (existing.length !== ports) {
    // A job has them away, or has died meanwhile: the set-up of the host makes them again.
    if (away && away.functions.length === ports) return away.functions;
    return `has ${existing.length} virtual functions for ${ports} ports`;
  }
  // A job that died has left them away; what exists is for the guards to judge.
  if (isBusy && away && away.functions.length === ports) return away.functions;
  if (!offered) return undefined;
  const handles = new Set(offeredAddresses(offered));
  return existing.map((each) => (handles.has(each) ? each : undefined));
}

async function readContent(
  { context, records }: DiscoveryDeps,
  address: string,
  number: number,
  ports: readonly Port[],
  blank: GbsImage | undefined,
): Promise<OfferedRegion['content']> {
  const port = ports.find((each) => each.number === number);
  // A port is disabled for moments, and then says so.
  const shown = port && (await readFunction(context, address, port).catch(() => undefined));
  const written = await records.content(address, number);
  // The host, or a guest with the whole card, has written another image.
  const isOther = shown && written && written.functions.length > 0;
  const content: OfferedRegion['content'] =
    !written || (isOther && !written.functions.includes(shown))
      ? { functions: shown ? [shown] : [] }
      : written;
  const blanks = blank?.functionUuids ?? [];
  const functions = content.functions.filter((each) => !blanks.includes(each));
  return { functions, ...(content.image && { image: content.image }) };
}
