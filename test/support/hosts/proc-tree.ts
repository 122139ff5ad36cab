// Builds procfs trees: processes with open files, and the tables that the guards read.

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

interface ProcessGiven {
  readonly comm?: string;
  /** Targets of its descriptors, such as `/dev/vfio/12`. */
  readonly open?: readonly string[];
  readonly mountNamespace?: string;
  readonly mountinfo?: string;
}

export class ProcTree {
  readonly root = mkdtempSync(join(tmpdir(), 'proc-'));

  constructor() {
    this.write('self/mountinfo', '');
    this.write('swaps', 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n');
    this.write('net/route', 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n');
    this.link('self/ns/mnt', 'mnt:[1]');
    this.addProcess(1, { comm: 'systemd', open: ['/dev/null'] });
  }

  addProcess(pid: number, given: ProcessGiven): this {
    this.write(`${pid}/comm`, `${given.comm ?? 'sleep'}\n`);
    this.write(`${pid}/mountinfo`, given.mountinfo ?? '');
    this.link(`${pid}/ns/mnt`, given.mountNamespace ?? 'mnt:[1]');
    mkdirSync(join(this.root, `${pid}/fd`), { recursive: true });
    for (const [index, target] of (given.open ?? []).entries()) {
      this.link(`${pid}/fd/${index}`, target);
    }
    return this;
  }

  removeProcess(pid: number): this {
    rmSync(join(this.root, String(pid)), { recursive: true });
    return this;
  }

  link(path: string, target: string): this {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    rmSync(join(this.root, path), { force: true });
    symlinkSync(target, join(this.root, path));
    return this;
  }

  write(path: string, text: string): this {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), text);
    return this;
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
