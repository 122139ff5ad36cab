// What the agent reads of its host beside sysfs and procfs. Nothing of this host says anything of
// the devices of a trial, which has a sysfs of its own.

import type { DomainsFolder } from '#agent/guards/libvirt/domains.ts';
import { present } from '#core/shapes/derive/present.ts';

/** Files, and folders of files that end with `.conf`. */
export interface NovaFiles {
  readonly paths: readonly string[];
  /** The agent's settings name them, so that they must be there. */
  readonly isNamed: boolean;
}

export interface HostFiles {
  /** Definitions of libvirt, and those of running servers. */
  readonly domains?: DomainsFolder;
  readonly liveDomains?: DomainsFolder;
  /** The settings of nova-compute. */
  readonly novaFiles?: NovaFiles;
  /** Absent for a simulated host. */
  readonly kernelLogFile?: string;
  readonly usesVendorTools: boolean;
}

interface Settings {
  readonly SYSFS_ROOT: string;
  readonly DOMAINS_DIR?: string | undefined;
  readonly LIVE_DOMAINS_DIR?: string | undefined;
  readonly NOVA_CONF?: readonly string[] | undefined;
  readonly KERNEL_LOG?: string | undefined;
  readonly VENDOR_TOOLS?: 'on' | 'off' | undefined;
}

/** Those that oslo.config reads for nova-compute, and the one that Kolla copies from. */
const novaPaths = [
  '/etc/nova/nova.conf',
  '/etc/nova/nova-compute.conf',
  '/etc/nova/nova.conf.d',
  '/etc/nova/nova-compute.conf.d',
  '/etc/kolla/nova-compute/nova.conf',
];

export function chooseHostFiles(settings: Settings): HostFiles {
  const { KERNEL_LOG: kernelLog, VENDOR_TOOLS: tools, NOVA_CONF: novaConf } = settings;
  const isOwn = settings.SYSFS_ROOT === '/sys';
  const folder = (path: string | undefined, otherwise: string) =>
    path === undefined && !isOwn
      ? undefined
      : { path: path ?? otherwise, isNamed: path !== undefined };
  const ofNova = novaConf ?? (isOwn ? novaPaths : undefined);
  return {
    ...present({
      domains: folder(settings.DOMAINS_DIR, '/etc/libvirt/qemu'),
      liveDomains: folder(settings.LIVE_DOMAINS_DIR, '/run/libvirt/qemu'),
      novaFiles: ofNova && { paths: ofNova, isNamed: novaConf !== undefined },
      kernelLogFile: kernelLog ?? (isOwn ? '/dev/kmsg' : undefined),
    }),
    usesVendorTools: tools ? tools === 'on' : isOwn,
  };
}
