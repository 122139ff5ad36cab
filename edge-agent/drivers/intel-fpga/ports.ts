// The ports of an FPGA card: with its physical function, where the host programs and resets them,
// or with virtual functions, one each. A card is programmed without virtual functions, as Intel
// demands (OPAE Intel FPGA Linux Device Driver Architecture Guide, Partial Reconfiguration).

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { HostChange } from '#agent/drivers/contract/driver.ts';
import { bindFunction, functionCount } from '#agent/drivers/pci/setup.ts';
import { type PciFunction, readPciFunctionAt, virtualLinks } from '#agent/sysfs/pci.ts';
import { type Engine, hasLostPort, readEngine, readFunction, readPorts } from './engines.ts';
import type { CardRecords } from './known.ts';
import type { IntelFpgaCards, IntelFpgaSettings } from './settings.ts';

const portMs = 30_000;
const hostDrivers = { dfl: 'dfl-pci', 'intel-fpga': 'intel-fpga-pci' } as const;

export interface PortsDeps {
  readonly settings: IntelFpgaSettings;
  readonly context: DriverContext;
  readonly records: CardRecords;
}

/** Addresses, in the order of their numbers, which is that of the ports. */
export function virtualAddresses({ sysfs }: DriverContext, fn: PciFunction): string[] {
  return virtualLinks(sysfs, fn).flatMap(({ address }) => address ?? []);
}

/** The change that a card needs so that each of its ports has a virtual function. */
export async function planFunctions(
  deps: PortsDeps,
  fn: PciFunction,
): Promise<readonly HostChange[]> {
  const { context } = deps;
  if (fn.boundDriver === undefined) return [await unboundChange(deps, fn)];
  const engine = await readEngine(context, fn);
  if (!engine) return [];
  const existing = virtualAddresses(context, fn);
  if (existing.length === engine.ports) return [];
  const difference = {
    address: fn.address,
    what: functionCount,
    before: String(existing.length),
    after: String(engine.ports),
  };
  const refusal = await findRefusal(deps, fn, engine, existing);
  if (refusal !== undefined) return [{ ...difference, refusal }];
  return [
    {
      ...difference,
      apply: async () => {
        const refused = await findRefusal(deps, fn, engine, virtualAddresses(context, fn));
        if (refused !== undefined) throw new Error(refused);
        await makeFunctions(deps, fn);
      },
    },
  ];
}

/** An agent that died while it bound the card anew left the card without a driver. */
async function unboundChange({ context }: PortsDeps, fn: PciFunction): Promise<HostChange> {
  const { address } = fn;
  const after = await chooseHostDriver(context, fn);
  return {
    address,
    what: 'driver',
    before: 'none',
    after,
    apply: () => bindFunction(context, address, after),
  };
}

/**
 * The card's driver_override, if it is one of them; else the one that is loaded. The read waits
 * while the kernel binds or removes the card.
 */
async function chooseHostDriver(
  { sysfs, hardware }: DriverContext,
  { address, path }: PciFunction,
): Promise<string> {
  const all: readonly string[] = Object.values(hostDrivers);
  const override = await hardware.readText(address, `${path}/driver_override`).catch(() => '');
  if (all.includes(override)) return override;
  const loaded = all.find((each) => sysfs.list(`bus/pci/drivers/${each}`) !== undefined);
  return loaded ?? hostDrivers.dfl;
}

async function findRefusal(
  { context }: PortsDeps,
  { address, path }: PciFunction,
  { ports }: Engine,
  existing: readonly string[],
): Promise<string | undefined> {
  const { sysfs, guards } = context;
  const total = Number(sysfs.readAttribute(`${path}/sriov_totalvfs`) ?? Number.NaN);
  if (!(total >= ports)) return `it has ${ports} ports, and can have ${total} virtual functions`;
  const offered = existing.find((each) => guards.isOffered(each));
  if (offered) return `${offered} is offered to guests`;
  return await findUse(context, [address, ...existing]);
}

/** What uses one of the functions, or a port of the card, as a clause. */
async function findUse(context: DriverContext, addresses: readonly string[]) {
  const functions = addresses.flatMap((each) => readPciFunctionAt(context.sysfs, each) ?? []);
  const held = await context.guards.heldBy(functions, true);
  return [...held].map(([address, use]) => `${address} ${use}`)[0];
}

/** Releases each port of the physical function, and makes as many virtual functions. */
async function makeFunctions(deps: PortsDeps, fn: PciFunction): Promise<void> {
  const { settings, context, records } = deps;
  const { hardware } = context;
  const { address, path } = fn;
  const write = (name: string, text: string) =>
    hardware.writeText(address, `${path}/${name}`, text);
  if (virtualAddresses(context, fn).length > 0) await write('sriov_numvfs', '0');
  const engine = await withDrivers(deps, fn);
  for (const port of await readPorts(context, fn)) {
    // A virtual function on a VFIO driver does not show it.
    if (!(await records.content(address, port.number))) {
      const held = await readFunction(context, address, port).catch(() => undefined);
      await records.setContent(address, port.number, { functions: held ? [held] : [] });
    }
    await movePort(settings, context, engine, 'release', port.number);
  }
  // New functions stay without a driver, so that the host does not use them.
  await write('sriov_drivers_autoprobe', '0');
  // The kernel refuses another number than that of the released ports.
  await write('sriov_numvfs', String(engine.ports));
  const made = virtualAddresses(context, fn).length;
  if (made !== engine.ports) throw new Error(`its driver made ${made} virtual functions`);
}

async function movePort(
  { fpgaport }: IntelFpgaSettings,
  { hardware }: DriverContext,
  { address, node, stack }: Engine,
  to: 'release' | 'assign',
  port: number,
): Promise<void> {
  if (stack === 'dfl') {
    await hardware.help(address, [`dfl-${to}`, node, String(port)], portMs);
    return;
  }
  const answer = await hardware.exec(address, fpgaport, [to, node, String(port)], portMs);
  if (answer.exitCode !== 0) {
    throw new Error(`${fpgaport} ${to} of port ${port} ended with ${answer.exitCode}`);
  }
}

/**
 * Runs the work while the physical function has all ports of the card, and brings the card back
 * to how it is offered. A guest that has a function of the card has it without `work`: refused.
 */
export async function withPorts<T>(
  deps: PortsDeps,
  { virtual_functions: isVirtual, bind_to: driver }: IntelFpgaCards,
  fn: PciFunction,
  work: (engine: Engine) => Promise<T>,
): Promise<T> {
  const { context, records } = deps;
  const { address } = fn;
  const use = await findUse(context, [address, ...virtualAddresses(context, fn)]);
  if (use !== undefined) throw new Error(`The card ${address} cannot be programmed: ${use}.`);
  if (!isVirtual) return await work(await takeEngine(deps, fn));
  let result: T;
  await records.setAway(address, true);
  try {
    result = await work(await takePorts(deps, fn));
  } catch (error) {
    // The set-up of the host repairs what stays undone; the error is the first one.
    await giveBack(deps, fn, driver).catch((second: unknown) => {
      context.log.warn('Ports of FPGA left with the host', { address, error: String(second) });
    });
    throw error;
  }
  await giveBack(deps, fn, driver);
  return result;
}

/** The engine, after each port that is with the card has its driver. */
async function withDrivers({ context }: PortsDeps, fn: PciFunction): Promise<Engine> {
  const { address, path } = fn;
  const { boundDriver } = readPciFunctionAt(context.sysfs, address) ?? {};
  if (boundDriver === undefined)
    await bindFunction(context, address, await chooseHostDriver(context, fn));
  else if (hasLostPort(context, fn)) {
    // The driver of the card makes all its ports anew. An agent that dies here finds the override.
    await context.hardware.writeText(address, `${path}/driver_override`, `${boundDriver}\n`);
    await context.hardware.writeText(address, `${path}/driver/unbind`, address);
    await bindFunction(context, address, boundDriver);
  }
  const engine = await readEngine(context, fn);
  if (!engine) throw new Error(`The driver of ${address} shows no management engine.`);
  return engine;
}

/** The engine; a whole card that a guest had is taken back from the VFIO driver. */
async function takeEngine(deps: PortsDeps, fn: PciFunction): Promise<Engine> {
  const { context } = deps;
  const { address } = fn;
  if (!Object.values(hostDrivers).some((each) => each === fn.boundDriver)) {
    await bindFunction(context, address, await chooseHostDriver(context, fn));
  }
  return await withDrivers(deps, fn);
}

async function takePorts(deps: PortsDeps, fn: PciFunction): Promise<Engine> {
  const { settings, context } = deps;
  if (virtualAddresses(context, fn).length > 0) {
    await context.hardware.writeText(fn.address, `${fn.path}/sriov_numvfs`, '0');
  }
  const engine = await withDrivers(deps, fn);
  const there = new Set((await readPorts(context, fn)).map(({ number }) => number));
  for (let port = 0; port < engine.ports; port += 1) {
    if (!there.has(port)) await movePort(settings, context, engine, 'assign', port);
  }
  return await withDrivers(deps, fn);
}

async function giveBack(deps: PortsDeps, fn: PciFunction, driver: string): Promise<void> {
  const { context, records } = deps;
  await makeFunctions(deps, fn);
  for (const [port, each] of virtualAddresses(context, fn).entries()) {
    await bindVirtual(deps, fn, { address: each, port }, driver);
  }
  await records.setAway(fn.address, false);
}

interface Seat {
  readonly address: string;
  readonly port: number;
}

/**
 * Binds a virtual function to the VFIO driver. Of a card with several ports the function first
 * goes to the host's driver, which shows its port: a guest must get the region that was written.
 */
export async function bindVirtual(
  { context }: PortsDeps,
  fn: PciFunction,
  { address, port }: Seat,
  driver: string,
): Promise<void> {
  const engine = await readEngine(context, fn);
  if (engine && engine.ports > 1) {
    await bindFunction(context, address, hostDrivers[engine.stack]);
    const virtual = readPciFunctionAt(context.sysfs, address);
    const [actual] = virtual ? await readPorts(context, virtual, fn.address) : [];
    if (actual?.number !== port) {
      throw new Error(`${address} has port ${actual?.number ?? 'unknown'}, not ${port}`);
    }
  }
  await bindFunction(context, address, driver);
}
