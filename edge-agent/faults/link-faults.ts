// PCIe links that came up with one lane, or at the speed of the first generation, although both
// of their ends can do more: a card that sits badly, a riser, or a dirty slot. A warning.
//
// INVARIANTS
// - A GPU and an AI chip change their link themselves: NVIDIA's nvidia-smi says of speed and width
//   that both may be reduced while the GPU is not in use, and AMD's firmware changes both once its
//   driver is loaded. So of these only the width counts, and only while no driver runs them.
// - A link that is retrained for a moment is no fault: two looks must agree.

import type { Clock } from '#agent/clock.ts';
import { findParents } from '#agent/guards/owner.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { type Log, reasonOf } from '#agent/log.ts';
import { readIfReadable, readPciFunctionAt } from '#agent/sysfs/pci.ts';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';

export interface LinkFaults {
  /** Looks at the links of devices, at each of them rarely. Never rejects. */
  look(devices: readonly ReportedDevice[]): Promise<void>;
  healthOf(address: string): ReportedDevice['health'];
}

interface LinkFaultsDeps {
  readonly sysfs: Sysfs;
  readonly hardware: Pick<Hardware, 'readStarts'>;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly log: Log;
}

/** A link is trained at a reset or at the boot, and each look starts children. */
const everyMs = 600_000;
/** `16.0 GT/s PCIe` and a newline, and shorter texts: the longest first. */
const lengths = Array.from({ length: 31 }, (_, index) => 32 - index);
const nextStep =
  'Seat the card anew, and check its riser and slot: a link is trained at a reset and at a boot.';

const attributes = [
  'current_link_width',
  'max_link_width',
  'current_link_speed',
  'max_link_speed',
] as const;
type Attributes = Readonly<Record<(typeof attributes)[number], number>>;

interface Link {
  /** The port above. */
  readonly port: string;
  /** What is below the port: the card, or a switch on the way to it. */
  readonly below: string;
}

interface Look {
  readonly atMs: number;
  /** What is wrong; undefined if nothing is. */
  readonly reason?: string | undefined;
  readonly since: string;
  /** Two looks agree. */
  readonly isSure: boolean;
}

export function createLinkFaults({ sysfs, hardware, clock, log }: LinkFaultsDeps): LinkFaults {
  let looks: ReadonlyMap<string, Look> = new Map();

  const isDue = (address: string): boolean => {
    const last = looks.get(address);
    const isOpen = last?.reason !== undefined && !last.isSure;
    return !last || isOpen || clock.wallMs() - last.atMs >= everyMs;
  };

  const lookAt = async (cards: readonly string[]) => {
    const requested = cards.flatMap((card) => {
      const links = linksAbove(sysfs, card);
      const ends = [...new Set(links.flatMap(({ port, below }) => [port, below]))];
      const files = ends.flatMap((end) =>
        attributes.map((name) => ({ device: card, end, name, path: pathOf(end, name) })),
      );
      return links.length > 0 && mayBeRead(sysfs, card) ? [{ card, links, files }] : [];
    });
    const files = requested.flatMap((each) => each.files);
    const reads = files.length > 0 ? await hardware.readStarts(files, lengths) : [];
    const numbers = new Map(
      files.map(({ path }, index) => {
        const read = reads[index];
        return [path, Buffer.isBuffer(read) ? Number.parseFloat(read.toString('latin1')) : 0];
      }),
    );
    const linkAt = (end: string) =>
      Object.fromEntries(
        attributes.map((name) => [name, numbers.get(pathOf(end, name)) ?? 0]),
      ) as Attributes;
    return new Map(
      requested.map(({ card, links }) => {
        const faults = links.map((link) => {
          const [above, below] = [linkAt(link.port), linkAt(link.below)];
          return faultOf(link, above, below, changesItself(sysfs, card));
        });
        return [card, faults.find((each) => each !== undefined)];
      }),
    );
  };

  const take = (address: string, reason: string | undefined): Look => {
    const last = looks.get(address);
    const isSame = last !== undefined && last.reason === reason;
    const since = isSame ? last.since : new Date(clock.wallMs()).toISOString();
    if (isSame && !last.isSure && reason !== undefined) {
      log.warn('PCIe link slow', { address, reason });
    }
    return { atMs: clock.wallMs(), reason, since, isSure: isSame };
  };

  return {
    look: async (devices) => {
      try {
        const cards = new Map(devices.map((each) => [each.address, cardsOf(sysfs, each)]));
        const due = [...cards].filter(([address]) => isDue(address));
        const faults = await lookAt([...new Set(due.flatMap(([, each]) => each))]);
        const next = new Map([...looks].filter(([address]) => cards.has(address)));
        for (const [address, each] of due) {
          // Without an answer of all, what was seen before stays.
          if (!each.every((card) => faults.has(card))) continue;
          const [reason] = each.flatMap((card) => faults.get(card) ?? []);
          next.set(address, take(address, reason));
        }
        looks = next;
      } catch (error) {
        log.error('PCIe links not read', { reason: reasonOf(error) });
      }
    },
    healthOf: (address) => {
      const { reason, since, isSure } = looks.get(address) ?? {};
      if (reason === undefined || since === undefined || !isSure) return undefined;
      return { state: 'degraded', reason, since, next_step: nextStep };
    },
  };
}

const devices = 'bus/pci/devices';

function pathOf(address: string, attribute: string): string {
  return `${devices}/${address}/${attribute}`;
}

/** The cards of a device: itself, or those of the units of a pool. */
function cardsOf(sysfs: Sysfs, { address, offers }: ReportedDevice): string[] {
  const units = (offers?.attach_handles ?? []).flatMap(({ type, info }) => {
    const { domain, bus, device, function: fn } = info;
    return type === 'PCI' ? [`${domain}:${bus}:${device}.${fn}`] : [];
  });
  const named = parsePciAddress(address) ? [address] : units;
  const cards = named.flatMap((each) => {
    const parsed = parsePciAddress(each);
    const fn = parsed && printPciAddress(parsed);
    return fn ? [sysfs.linkName(`${devices}/${fn}/physfn`) ?? fn] : [];
  });
  return [...new Set(cards)];
}

/**
 * The links on the way from the root port to the card. Ports and what is below them take turns, as
 * a switch has a port above and one below. Other trees, such as those of a guest, have none.
 */
function linksAbove(sysfs: Sysfs, card: string): Link[] {
  const domain = card.slice(0, card.indexOf(':') + 1);
  // VMD makes a domain of its own below a function that is no port.
  const parents = findParents(sysfs, `${devices}/${card}`).filter((each) =>
    each.startsWith(domain),
  );
  const way = [...parents, card];
  if (way.length % 2 !== 0) return [];
  return way.flatMap((below, index) => {
    const port = way[index - 1];
    return index % 2 === 1 && port !== undefined ? [{ port, below }] : [];
  });
}

/** A read must not wake a card that is without power. */
function mayBeRead(sysfs: Sysfs, card: string): boolean {
  if (readIfReadable(sysfs, pathOf(card, 'power_state')) === 'D3cold') return false;
  return !changesItself(sysfs, card) || isIdle(sysfs, card);
}

/** Display controllers, and the class of AI chips. */
function changesItself(sysfs: Sysfs, card: string): boolean {
  return /^(03|12)/.test(readPciFunctionAt(sysfs, card)?.classCode ?? '');
}

/** No driver of the vendor runs it: it has none, or VFIO has put it to sleep between guests. */
function isIdle(sysfs: Sysfs, card: string): boolean {
  const driver = sysfs.linkName(`${devices}/${card}/driver`);
  const isAsleep = readIfReadable(sysfs, pathOf(card, 'power/runtime_status')) === 'suspended';
  return driver === undefined || (driver.includes('vfio') && isAsleep);
}

function faultOf(
  { port }: Link,
  above: Attributes,
  below: Attributes,
  isWidthAlone: boolean,
): string | undefined {
  const lanes = Math.min(above.max_link_width, below.max_link_width);
  // The kernel prints 0 or 255 for a broken link and for a virtual function.
  if (below.current_link_width === 1 && lanes > 1 && lanes <= 32) {
    return `has a PCIe link of one lane at the port ${port}, where ${lanes} are possible`;
  }
  const speed = Math.min(above.max_link_speed, below.max_link_speed);
  if (isWidthAlone || below.current_link_speed !== 2.5 || !(speed > 2.5)) return undefined;
  return `has a PCIe link of 2.5 GT/s at the port ${port}, where ${speed} GT/s are possible`;
}
