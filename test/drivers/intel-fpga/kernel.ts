// The kernel's and the card's side of Intel's FPGA cards, simulated over a sysfs tree: the ports
// of the DFL drivers or of intel-fpga, their ioctls through the helper, and OPAE's programs. The
// errnos are those of Linux 6.1, drivers/fpga.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Answer, Hardware } from '#agent/hardware/port.ts';
import { readGbs } from '#agent/images/image-check.ts';
import { PciKernel } from '#test/drivers/pci/kernel.ts';
import { aFunction, fakeInterface } from '#test/support/hosts/gbs.ts';
import type { SysfsTree } from '#test/support/hosts/sysfs.ts';

export interface SimulatedCard {
  readonly stack: 'dfl' | 'intel-fpga';
  readonly number: number;
  readonly ports: number;
  /** What a boot loads into each port, from flash. */
  readonly atBoot: string;
  /** Functions of the ports, with hyphens. */
  readonly functions: string[];
  /** Ports that are released from the physical function. */
  readonly released: Set<number>;
  /** Ports of virtual functions, by the function's number; as they are wired. */
  readonly wiring: readonly number[];
  /** Bytes of bitstreams that the card has taken. */
  readonly taken: number[];
  /** What the next image ends with, and what the manager then shows. */
  fails?: { readonly code: string; readonly status: string };
  /** The port shows another function than the image has. */
  shows?: string;
  /** Linux before 6.14: a port that was released and assigned again gets no driver. */
  readonly losesPorts: boolean;
  /** Reads of afu_id that find the port disabled. */
  disabledReads: number;
  /** The errors come back when they are cleared. */
  hasLastingErrors: boolean;
}

const ids = { vendor: '8086', product: '09c4', subsystem: '8086:0000', classCode: '120000' };
export const staticRegion = '0x22000002358b000';

export class FpgaKernel {
  readonly tree: SysfsTree;
  /** What was asked of the helper, and command lines of programs. */
  readonly ran: string[] = [];
  /** Called after a function was unbound. */
  onUnbind: (address: string) => void = () => {};
  /** Called before the card takes an image. */
  onProgram: () => Promise<void> = async () => {};
  readonly #pci: PciKernel;
  readonly #cards = new Map<string, SimulatedCard>();

  constructor(tree: SysfsTree) {
    this.tree = tree;
    this.#pci = new PciKernel(tree, { ...ids, product: '09c5', driver: undefined });
    for (const driver of ['dfl-pci', 'intel-fpga-pci', 'vfio-pci'])
      tree.write(`bus/pci/drivers/${driver}/unbind`, '');
  }

  add(address: string, given: Partial<SimulatedCard> = {}): SimulatedCard {
    const ports = given.ports ?? 1;
    const card: SimulatedCard = {
      stack: 'dfl',
      number: this.#cards.size,
      ports,
      released: new Set(),
      atBoot: aFunction,
      functions: Array.from({ length: ports }, () => given.atBoot ?? aFunction),
      wiring: Array.from({ length: ports }, (_, index) => index),
      taken: [],
      disabledReads: 0,
      hasLastingErrors: false,
      losesPorts: true,
      ...given,
    };
    const driver = card.stack === 'dfl' ? 'dfl-pci' : 'intel-fpga-pci';
    this.#pci.addCard({ address, ...ids, driver, sriovTotalvfs: ports });
    this.#cards.set(address, card);
    this.#show(address);
    return card;
  }

  at(address: string): SimulatedCard {
    const found = this.#cards.get(address);
    if (!found) throw new Error(`No card at ${address}.`);
    return found;
  }

  /** Below the root: the folder of the engine and of the ports. */
  folderOf(address: string): string {
    const { stack, number } = this.at(address);
    const below = stack === 'dfl' ? `fpga_region/region${number}` : `fpga/intel-fpga-dev.${number}`;
    return `${this.tree.pathOf(address)}/${below}`;
  }

  engineOf(address: string): string {
    const { stack, number } = this.at(address);
    return `${this.folderOf(address)}/${stack === 'dfl' ? 'dfl' : 'intel-fpga'}-fme.${number}`;
  }

  portOf(address: string, port = 0): string {
    return `${this.folderOf(address)}/${this.#portName(address, port)}`;
  }

  virtualOf(address: string): string[] {
    return this.#pci.virtualOf(address);
  }

  /** A boot: all ports are with the card. */
  reboot(): void {
    for (const [address, card] of this.#cards) {
      this.#pci.reboot([address]);
      card.released.clear();
      card.functions.fill(card.atBoot);
      this.#show(address);
    }
  }

  /** Gives the card to a guest: it is on another driver, and shows nothing. */
  bind(address: string, driver: string): void {
    this.tree.write(`${this.tree.pathOf(address)}/driver_override`, `${driver}\n`);
    this.#pci.effect('unbind', address);
    this.#pci.effect('drivers_probe', address);
    this.#follow(address, driver);
  }

  /** Names of attributes whose reads hang until the agent gives up. */
  readonly hanging = new Set<string>();
  /** Programs that are not installed; undefined is the agent's helper. */
  readonly missing = new Set<string | undefined>();

  hardware(): Pick<Hardware, 'writeText' | 'exec' | 'help' | 'readText' | 'isInstalled'> {
    return {
      isInstalled: (tool) => !this.missing.has(tool),
      readText: async (_device, path) => {
        if (this.hanging.has(basename(path))) throw new HardwareError('ETIMEDOUT', `${path} hangs`);
        const file = join(this.tree.root, path);
        const card = [...this.#cards.values()].find(({ disabledReads }) => disabledReads > 0);
        if (basename(path) === 'afu_id' && card) {
          card.disabledReads -= 1;
          throw new HardwareError('EBUSY', `${path} cannot be read`);
        }
        return readTree(file, path);
      },
      writeText: async (_device, path, text) => this.#write(path, text),
      help: async (_device, args) => {
        this.ran.push(args.join(' '));
        await this.#help(args);
        return '';
      },
      exec: async (_device, tool, args) => {
        this.ran.push([basename(tool), ...args].join(' '));
        return this.#exec(basename(tool), args);
      },
    };
  }

  async #write(path: string, text: string): Promise<void> {
    const name = basename(path);
    const card = [...this.#cards.keys()].find((each) => path.includes(`/${each}/`));
    if (name === 'errors' || name === 'clear' || /^(fme|pcie[01])_errors$/.test(name)) {
      const file = join(this.tree.root, name === 'clear' ? path.replace(/clear$/, 'errors') : path);
      if (readTree(file, path) !== text) throw new HardwareError('EINVAL', path);
      if (!card || !this.at(card).hasLastingErrors) writeFileSync(file, '0x0\n');
      return;
    }
    if (name === 'sriov_numvfs' && card) {
      const count = Number(text);
      // dfl_fpga_cdev_config_ports_vf() takes the number of released ports alone.
      if (count > 0 && count !== this.at(card).released.size)
        throw new HardwareError('EINVAL', path);
    }
    await this.#pci.hardware().writeText('', path, text);
    if (name === 'unbind') {
      this.onUnbind(text);
      this.#follow(text, undefined);
    }
    if (name === 'drivers_probe') {
      const override = join(this.tree.root, this.tree.pathOf(text), 'driver_override');
      this.#follow(text, readTree(override, override));
    }
  }

  /** Shows or hides what the driver finds in a function. */
  #follow(address: string, driver: string | undefined): void {
    const isOwn = driver === 'dfl-pci' || driver === 'intel-fpga-pci';
    if (this.#cards.has(address)) {
      this.#hide(address);
      if (!isOwn) return;
      // Probing finds all ports.
      this.at(address).released.clear();
      this.#show(address);
      return;
    }
    const card = [...this.#cards.keys()].find((each) => this.virtualOf(each).includes(address));
    if (card === undefined) return;
    const path = `${this.tree.pathOf(address)}/fpga_region`;
    rmSync(join(this.tree.root, path), { recursive: true, force: true });
    const port = this.at(card).wiring[this.virtualOf(card).indexOf(address)] ?? 0;
    if (isOwn) this.#writePort(card, `${path}/region9/dfl-port.${9 - port}`, port);
  }

  #hide(address: string): void {
    const { stack } = this.at(address);
    const below = stack === 'dfl' ? 'fpga_region' : 'fpga';
    const path = join(this.tree.root, this.tree.pathOf(address), below);
    rmSync(path, { recursive: true, force: true });
  }

  #show(address: string): void {
    const { stack, ports, released } = this.at(address);
    const path = this.engineOf(address);
    const compatible = `${fakeInterface.replaceAll('-', '')}\n`;
    this.tree.write(`${path}/ports_num`, `${ports}\n`);
    this.tree.write(`${path}/bitstream_id`, `${staticRegion}\n`);
    if (stack === 'intel-fpga') this.tree.write(`${path}/pr/interface_id`, compatible);
    else {
      for (let port = 0; port < ports; port += 1) {
        this.tree.write(
          `${path}/dfl-fme-region.${port}/fpga_region/region${port + 1}/compat_id`,
          compatible,
        );
      }
      for (const name of ['catfatal', 'nonfatal', 'fme', 'pcie0', 'pcie1']) {
        this.tree.write(`${path}/errors/${name}_errors`, '0x0\n');
      }
      this.#state(address, 'operating', '');
    }
    for (let port = 0; port < ports; port += 1) {
      if (!released.has(port)) this.#writePort(address, this.portOf(address, port), port);
    }
  }

  #writePort(card: string, path: string, port: number): void {
    this.tree.write(`${path}/id`, `${port}\n`);
    this.tree.write(`${path}/afu_id`, `${this.at(card).functions[port]?.replaceAll('-', '')}\n`);
    this.tree.write(`${path}/errors/errors`, '0x0\n');
    if (this.at(card).stack === 'intel-fpga') this.tree.write(`${path}/errors/clear`, '');
    else this.tree.write(`${path}/power_state`, '0x0\n');
    this.tree.link(`bus/platform/devices/${basename(path)}`, path);
  }

  #portName(address: string, port: number): string {
    const { stack, number } = this.at(address);
    return `${stack === 'dfl' ? 'dfl' : 'intel-fpga'}-port.${number * 10 + port}`;
  }

  #state(address: string, state: string, status: string): void {
    const path = `${this.engineOf(address)}/dfl-fme-mgr.0/fpga_manager/fpga0`;
    this.tree.write(`${path}/state`, `${state}\n`).write(`${path}/status`, status);
  }

  async #help([verb = '', node = '', ...rest]: readonly string[]): Promise<void> {
    if (verb === 'dfl-reset') {
      if (!this.#seatOf(basename(node))) throw new HardwareError('ENOENT', node);
      return;
    }
    const card = [...this.#cards.keys()].find(
      (each) => `/dev/${basename(this.engineOf(each))}` === node,
    );
    if (!card) throw new HardwareError('ENOENT', node);
    const [port = '', path = '', offset = '0'] = rest;
    if (verb === 'dfl-program') await this.#program(card, Number(port), path, Number(offset));
    else this.#move(card, verb.replace('dfl-', ''), Number(port));
  }

  #seatOf(name: string): string | undefined {
    return [...this.#cards].find(([address, { ports, released }]) =>
      Array.from({ length: ports }, (_, port) => port).some(
        (port) => !released.has(port) && this.#portName(address, port) === name,
      ),
    )?.[0];
  }

  #move(address: string, to: string, port: number): void {
    const { released, ports } = this.at(address);
    if (!(port < ports)) throw new HardwareError('ENODEV', `port ${port}`);
    const path = this.portOf(address, port);
    if (to === 'release') {
      if (released.has(port)) throw new HardwareError('EBUSY', `port ${port}`);
      released.add(port);
      rmSync(join(this.tree.root, path), { recursive: true });
    } else {
      if (!released.delete(port)) throw new HardwareError('EBUSY', `port ${port}`);
      if (this.at(address).losesPorts) this.tree.write(`${path}/modalias`, 'platform:dfl-port\n');
      else this.#writePort(address, path, port);
    }
  }

  async #program(address: string, port: number, path: string, offset: number): Promise<void> {
    const card = this.at(address);
    await this.onProgram();
    const image = await readGbs(path);
    if (offset !== image.bitstreamAt) throw new HardwareError('EIO', 'the bitstream has a header');
    // What the guests' functions do meanwhile is not known, so the driver must not ask for it.
    if (card.released.has(port)) throw new HardwareError('ETIMEDOUT', 'the port is not disabled');
    card.taken.push(port);
    if (card.fails) {
      this.#state(address, 'write complete error', `${card.fails.status}\n`);
      throw new HardwareError(card.fails.code, 'the image');
    }
    card.functions[port] = card.shows ?? image.functionUuid;
    this.#state(address, 'operating', '');
    this.#writePort(address, this.portOf(address, port), port);
  }

  async #exec(tool: string, args: readonly string[]): Promise<Answer> {
    const done: Answer = { exitCode: 0, stdout: '', stderr: '' };
    try {
      if (tool === 'fpgaport') {
        const [to = '', node = '', port = ''] = args;
        const card = [...this.#cards.keys()].find((each) =>
          node.endsWith(basename(this.engineOf(each))),
        );
        if (!card) return { exitCode: 1, stdout: '', stderr: `${node}: no such device` };
        this.#move(card, to, Number(port));
        return done;
      }
      const values = args.filter((_, index) => index % 2 === 1 && index < 8);
      const [domain, bus, device, fn] = values.map((each) => each.replace('0x', ''));
      const path = args.at(-1) ?? '';
      const { bitstreamAt } = await readGbs(path);
      await this.#program(`${domain}:${bus}:${device}.${fn}`, 0, path, bitstreamAt);
      return done;
    } catch (error) {
      return { exitCode: 1, stdout: '', stderr: String(error) };
    }
  }
}

function readTree(file: string, path: string): string {
  try {
    return readFileSync(file, 'latin1').trimEnd();
  } catch (error) {
    throw new HardwareError((error as NodeJS.ErrnoException).code ?? 'EIO', path);
  }
}
