// Error registers of an FPGA card: reported as its health, and cleared between holders. A
// register is cleared by writing the value that was read. Linux
// Documentation/ABI/testing/sysfs-platform-dfl-fme and sysfs-platform-dfl-port.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import type { Engine, Port } from './engines.ts';

/** The worst first; the first two cannot be cleared. */
const engineRegisters = [
  { file: 'catfatal_errors', what: 'catastrophic or fatal errors', state: 'unhealthy' },
  { file: 'nonfatal_errors', what: 'non-fatal errors', state: 'degraded' },
  { file: 'fme_errors', what: 'errors of its management engine', state: 'degraded' },
  { file: 'pcie0_errors', what: 'PCIe errors', state: 'degraded' },
  { file: 'pcie1_errors', what: 'PCIe errors of its second link', state: 'degraded' },
] as const;
const clearable = ['fme_errors', 'pcie0_errors', 'pcie1_errors'] as const;

/** `power_state` of a port: how far the card throttles it. */
const throttled: Readonly<Record<string, string>> = { '0x1': 'AP1', '0x2': 'AP2', '0x6': 'AP6' };

/**
 * The worst of what the registers show; undefined if they show nothing. The driver intel-fpga
 * shows its ports alone.
 *
 * @param since when the driver began to look: the registers have no times
 */
export async function readHealth(
  context: DriverContext,
  engine: Engine,
  ports: readonly Port[],
  since: string,
): Promise<ReportedDevice['health']> {
  if (engine.stack === 'dfl') {
    for (const { file, what: label, state } of engineRegisters) {
      const value = await readErrors(context, engine.address, `${engine.path}/errors/${file}`);
      if (value !== undefined) return { state, reason: `shows ${label}: ${value}`, since };
    }
  }
  for (const { number, path } of ports) {
    const value = await readErrors(context, engine.address, `${path}/errors/errors`);
    if (value !== undefined) {
      return { state: 'degraded', reason: `shows errors of port ${number}: ${value}`, since };
    }
    const power = throttled[await readOr(context, engine.address, `${path}/power_state`, '')];
    if (power) return { state: 'degraded', reason: `throttles port ${number}: ${power}`, since };
  }
  return undefined;
}

/**
 * Clears what can be cleared; the kernel resets the port meanwhile.
 *
 * @returns what was cleared, as text
 * @throws a sentence if errors stay
 */
export async function clearErrors(
  context: DriverContext,
  engine: Engine,
  port: Port,
): Promise<string> {
  const cleared = [
    await clear(context, engine, `port ${port.number}`, errorRegister(engine, port)),
  ];
  if (engine.stack === 'dfl') {
    for (const name of clearable) {
      const file = `${engine.path}/errors/${name}`;
      cleared.push(await clear(context, engine, name, { file, clearedBy: file }));
    }
    const [fatal] = engineRegisters;
    const left = await readErrors(context, engine.address, `${engine.path}/errors/${fatal.file}`);
    if (left !== undefined)
      throw new Error(`The card ${engine.address} shows ${fatal.what}: ${left}.`);
  }
  return cleared.flatMap((each) => each ?? []).join(', ') || 'none';
}

interface Register {
  readonly file: string;
  readonly clearedBy: string;
}

/** The driver intel-fpga has a file of its own for it. */
function errorRegister({ stack }: Engine, { path }: Port): Register {
  const file = `${path}/errors/errors`;
  return { file, clearedBy: stack === 'dfl' ? file : `${path}/errors/clear` };
}

async function clear(
  context: DriverContext,
  { address }: Engine,
  label: string,
  { file, clearedBy }: Register,
): Promise<string | undefined> {
  const value = await readErrors(context, address, file);
  if (value === undefined) return undefined;
  await context.hardware.writeText(address, clearedBy, value);
  const left = await readErrors(context, address, file);
  if (left !== undefined) throw new Error(`The errors of ${label} of ${address} stay: ${left}.`);
  return `${label} ${value}`;
}

/** Undefined for none, and for a register that the card does not have. */
async function readErrors(
  context: DriverContext,
  address: string,
  file: string,
): Promise<string | undefined> {
  const value = await readOr(context, address, file, '0x0');
  if (!/^0x[0-9a-f]{1,16}$/.test(value)) throw new Error(`${file} is not a number`);
  return /^0x0+$/.test(value) ? undefined : value;
}

async function readOr(
  { hardware }: DriverContext,
  address: string,
  file: string,
  ifAbsent: string,
): Promise<string> {
  try {
    return await hardware.readText(address, file);
  } catch (error) {
    if (error instanceof HardwareError && error.code === 'ENOENT') return ifAbsent;
    throw error;
  }
}
