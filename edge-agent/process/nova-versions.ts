// The releases of nova-compute that the host has, by the names of their packages' metadata: no API
// of Nova has them. Containers count, because the kernel shows the root of each process.

import type { Proc } from '#agent/guards/proc.ts';

const program = 'nova-compute';

/** Where the metadata of Python's packages lies below a prefix such as /usr or a venv. */
const libraries = ['site-packages', 'dist-packages'];

/** Matches nova-34.0.0.dist-info, or nova-26.2.2-py3.9.egg-info; the control plane takes 32. */
const metadata = /^nova-(\d+\.\d[\w.+]{0,28}?)(?:-py\d[\d.]*)?\.(?:dist|egg)-info$/;

const versionsMax = 4;

/**
 * The releases of the running nova-computes, sorted; while none runs, those that are installed
 * below /usr, because the agent starts first. Empty if the release of one is not found.
 */
export function readNovaVersions(proc: Proc): string[] {
  const pids = (proc.list('') ?? []).filter((name) => /^\d+$/.test(name));
  const running = pids.flatMap((pid) => {
    const prefix = prefixOf(proc, pid);
    return prefix === undefined ? [] : [versionsBelow(proc, pid, prefix)];
  });
  const installed = () => ['/usr', '/usr/local'].flatMap((at) => versionsBelow(proc, 'self', at));
  const versions = running.length > 0 ? running.flat() : installed();
  const isUnknown = running.some((each) => each.length === 0);
  return isUnknown ? [] : [...new Set(versions)].sort().slice(0, versionsMax);
}

/** The folder above bin/nova-compute; undefined for another process. */
function prefixOf(proc: Proc, pid: string): string | undefined {
  // An interpreter has the program as an argument, after its options.
  const called = proc.read(`${pid}/cmdline`)?.split('\0').slice(0, 3) ?? [];
  const path = called.find((each) => each.startsWith('/') && each.endsWith(`/${program}`));
  return path?.replace(/\/[^/]+\/[^/]+$/, '');
}

function versionsBelow(proc: Proc, pid: string, prefix: string): string[] {
  const lib = `${pid}/root${prefix}/lib`;
  const pythons = (proc.list(lib) ?? []).filter((name) => /^python3(\.\d+)?$/.test(name));
  const directories = pythons.flatMap((python) => libraries.map((at) => `${lib}/${python}/${at}`));
  return directories
    .flatMap((directory) => proc.list(directory) ?? [])
    .flatMap((name) => metadata.exec(name)?.[1] ?? []);
}
