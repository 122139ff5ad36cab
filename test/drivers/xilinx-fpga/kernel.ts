// XRT on a simulated host: what its drivers xclmgmt and xocl show in sysfs, and what the tools
// xbutil and xbmgmt answer, with their exit codes. Written from the source of XRT 2.x, and
// compared with no card.

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Answer, Hardware } from '#agent/hardware/port.ts';
import { PciKernel } from '#test/drivers/pci/kernel.ts';
import type { SysfsTree } from '#test/support/hosts/sysfs.ts';
import { shellInterface, shellPlatform } from './xclbin.ts';

interface AlveoCard {
  readonly serial: string;
  interfaces: readonly string[];
  /** What the card's flash has loaded, and what it loads after a cold boot. */
  base: string;
  flash: string;
  /** The upper part of the shell; undefined if none is loaded. */
  platform: string | undefined;
  /** The upper part was loaded by xbmgmt: a boot forgets it. */
  hasLoadedShell: boolean;
  firmware: string;
  /** Uuid of the xclbin that is loaded. */
  loaded: string | undefined;
  /** A kernel of the loaded xclbin has an open context. */
  hasContext: boolean;
  ready: boolean;
  /** The driver does not show what was loaded. */
  showsNothing: boolean;
}

type XrtFault = { readonly exitCode: number; readonly stderr?: string } | Error | string;

const managementFiles = ['ready', 'mfg', 'recovery', 'board_name', 'interface_uuids'];
const userFiles = ['ready', 'xclbinuuid', 'dev_offline', 'device_bad_state'];

export class XrtKernel {
  readonly tree: SysfsTree;
  readonly #pci: PciKernel;
  readonly #cards = new Map<string, AlveoCard>();
  /**
   * By tool and verb, such as `xbutil reset`, or `read` and the name of a file: another answer,
   * output, or what the port throws.
   */
  readonly faults = new Map<string, XrtFault>();
  /** Command lines. */
  readonly ran: string[] = [];
  /** Runs while a tool does, before its effect. */
  during: (verb: string) => Promise<void> = async () => {};

  constructor(tree: SysfsTree) {
    this.tree = tree;
    this.#pci = new PciKernel(tree, {});
    for (const driver of ['xclmgmt', 'xocl', 'vfio-pci']) {
      tree.write(`bus/pci/drivers/${driver}/unbind`, '');
    }
  }

  /** Both functions on XRT's drivers, as after a boot. @param slot `0000:d8:00` */
  /** Whether XRT is installed. */
  hasTools = true;

  add(slot: string, given: Partial<AlveoCard> = {}): AlveoCard {
    const card: AlveoCard = {
      serial: `S-${slot.slice(5, 7)}`,
      platform: shellPlatform,
      firmware: '4.6.20',
      base: 'xilinx_u250_gen3x16_base_3',
      flash: 'xilinx_u250_gen3x16_base_3',
      interfaces: ['15fb8da1f552a9f9234300db5f6ee9e0', shellInterface],
      loaded: undefined,
      hasLoadedShell: false,
      hasContext: false,
      ready: true,
      showsNothing: false,
      ...given,
    };
    const ids = { vendor: '10ee', classCode: '120000', subsystem: '10ee:000e', driver: undefined };
    const group = Number.parseInt(slot.slice(5, 7), 16) + 100;
    for (const [fn, product] of [
      ['0', '5004'],
      ['1', '5005'],
    ] as const) {
      this.tree.addFunction({ ...ids, address: `${slot}.${fn}`, product, iommuGroup: group });
    }
    this.#cards.set(slot, card);
    this.#boot(slot);
    return card;
  }

  at(slot: string): AlveoCard {
    const card = this.#cards.get(slot);
    if (!card) throw new Error(`No card at ${slot}.`);
    return card;
  }

  driverOf(address: string): string | undefined {
    const uevent = readFileSync(join(this.tree.root, this.tree.pathOf(address), 'uevent'), 'utf8');
    return /^DRIVER=(.*)$/m.exec(uevent)?.[1];
  }

  /** What was loaded is lost, and XRT's drivers have the cards. @param cold with a power cycle */
  reboot(cold = false): void {
    for (const [slot, card] of this.#cards) {
      if (cold) card.base = card.flash;
      if (card.hasLoadedShell) {
        Object.assign(card, { platform: undefined, hasLoadedShell: false });
        card.interfaces = card.interfaces.slice(0, 1);
      }
      card.loaded = undefined;
      for (const fn of ['0', '1']) this.#pci.effect('unbind', `${slot}.${fn}`);
      this.#boot(slot);
    }
  }

  hardware(): Pick<Hardware, 'writeText' | 'exec' | 'isInstalled'> {
    const { writeText } = this.#pci.hardware();
    return {
      isInstalled: () => this.hasTools,
      writeText: async (device, path, text) => {
        await writeText(device, path, text);
        const isBinding = ['unbind', 'drivers_probe'].includes(basename(path));
        if (isBinding) this.show(text.slice(0, -2));
      },
      exec: async (_device, tool, args) => {
        const verb = `${basename(tool)} ${args[0]}`;
        this.ran.push(`${basename(tool)} ${args.join(' ')}`);
        await this.during(verb);
        const fault = this.faults.get(verb);
        if (fault instanceof Error) throw fault;
        if (typeof fault === 'object') return { stdout: '', stderr: '', ...fault };
        const option = (name: string) => args[args.indexOf(name) + 1] ?? '';
        const address = option('--device');
        if (verb === 'xbmgmt examine') return this.#examine(address, option('--output'), fault);
        if (fault !== undefined) return answer(0, fault);
        if (verb === 'xbmgmt program') return this.#flash(address, args);
        if (verb === 'xbutil program') return this.#program(address, option('--user'));
        if (verb === 'xbutil reset') return this.#reset(address);
        return answer(1, '', `ERROR: Unknown command: '${args[0]}'`);
      },
    };
  }

  #boot(slot: string): void {
    for (const [fn, driver] of [
      ['0', 'xclmgmt'],
      ['1', 'xocl'],
    ] as const) {
      const address = `${slot}.${fn}`;
      this.tree.write(`${this.tree.pathOf(address)}/driver_override`, `${driver}\n`);
      this.#pci.effect('drivers_probe', address);
    }
    this.show(slot);
  }

  /** The files of the drivers that are bound now. */
  show(slot: string): void {
    const { interfaces, loaded, ready, showsNothing } = this.at(slot);
    const [management, user] = [`${slot}.0`, `${slot}.1`];
    const write = (address: string, name: string, text: string) =>
      this.tree.write(`${this.tree.pathOf(address)}/${name}`, text);
    const isManaged = this.driverOf(management) === 'xclmgmt';
    for (const name of managementFiles) if (!isManaged) this.#hide(management, name);
    if (isManaged) {
      write(management, 'ready', ready ? '1\n' : '0\n');
      write(management, 'mfg', '0\n');
      write(management, 'recovery', '0\n');
      write(management, 'board_name', 'u250\n');
      write(management, 'interface_uuids', interfaces.map((each) => `${each}\n`).join(''));
    }
    const isUsed = this.driverOf(user) === 'xocl';
    for (const name of userFiles) if (!isUsed) this.#hide(user, name);
    if (!isUsed) return;
    write(user, 'ready', ready ? '0x1\n' : '0x0\n');
    write(user, 'xclbinuuid', loaded && !showsNothing ? `${loaded}\n` : '');
    write(user, 'dev_offline', '0\n');
    write(user, 'device_bad_state', '0\n');
  }

  #hide(address: string, name: string): void {
    rmSync(join(this.tree.root, this.tree.pathOf(address), name), { force: true });
  }

  #examine(address: string, output: string, text: string | undefined): Answer {
    if (this.driverOf(address) !== 'xclmgmt') return notFound(address);
    const { serial, base, platform, firmware } = this.at(address.slice(0, -2));
    const shell = { vbnv: base, sc_version: firmware };
    const report = {
      schema_version: { schema: 'JSON', creation_date: '' },
      devices: [
        {
          interface_type: 'pcie',
          device_id: address,
          platform: {
            bdf: address,
            flash_type: 'spi',
            hardware: { serial_num: serial },
            device_properties: { board_type: 'u250', board_name: 'ALVEO U250 PQ' },
            current_shell: shell,
            current_partitions: platform === undefined ? '' : [{ vbnv: platform }],
          },
        },
      ],
    };
    if (existsSync(output)) writeFileSync(output, text ?? JSON.stringify(report));
    return answer(0, `Successfully wrote the JSON file: ${output}`);
  }

  /** `xbmgmt program`: the texts are those of OO_UpdateBase.cpp and OO_UpdateShell.cpp. */
  #flash(address: string, args: readonly string[]): Answer {
    if (this.driverOf(address) !== 'xclmgmt') return notFound(address);
    const card = this.at(address.slice(0, -2));
    const path = args.find((each) => each.endsWith('.xsabin')) ?? '';
    const image = readFileSync(path);
    const platform = image.toString('latin1', 352, 416).replace(/\0.*/s, '');
    if (args.includes('--shell')) {
      Object.assign(card, { platform, hasLoadedShell: true });
      card.interfaces = [card.interfaces[0] ?? '', image.toString('hex', 336, 352)];
      this.show(address.slice(0, -2));
      return answer(0, 'Programming shell on device...\nProgrammed shell successfully\n');
    }
    // Without --force it asks, and there is no terminal.
    if (!args.includes('--force')) return answer(1, '', 'ERROR: operation canceled\n');
    if (card.base === platform) {
      return answer(0, '\nDevice is up-to-date.  No flashing to performed.\n');
    }
    card.flash = platform;
    const cold = 'Cold reboot machine to load the new image on device.\n';
    return answer(0, `Report\n\nDevice flashed successfully.\n${cold}`);
  }

  #program(address: string, imagePath: string): Answer {
    if (this.driverOf(address) !== 'xocl') return notFound(address);
    const card = this.at(address.slice(0, -2));
    const image = readFileSync(imagePath);
    const refused = (why: string) =>
      answer(1, '', `ERROR: Could not program device ${address} : ${why}`);
    if (card.hasContext) return refused('failed to load xclbin (Device or resource busy)');
    if (!card.interfaces.includes(image.toString('hex', 336, 352))) {
      return refused('failed to load xclbin (Invalid argument)');
    }
    const plain = image.toString('hex', 416, 432);
    card.loaded = plain.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    this.show(address.slice(0, -2));
    return answer(0, `INFO: xrt-smi program succeeded on ${address}`);
  }

  #reset(address: string): Answer {
    if (this.driverOf(address) !== 'xocl') return notFound(address);
    const card = this.at(address.slice(0, -2));
    // The tool ends with 0 nevertheless.
    if (card.hasContext) return answer(0, `Reset failed on Device[${address}]\n`, 'ERROR: busy');
    card.loaded = undefined;
    this.show(address.slice(0, -2));
    return answer(
      0,
      `Performing 'HOT Reset' on '${address}'\nSuccessfully reset Device[${address}]\n`,
    );
  }
}

function answer(exitCode: number, stdout: string, stderr = ''): Answer {
  return { exitCode, stdout, stderr };
}

function notFound(address: string): Answer {
  return answer(1, '', `ERROR: Specified device BDF '${address}' not found`);
}
