import { SysfsTree } from '#local/demo/sysfs-tree.ts';

export { type PciFunctionFields as PciFunctionGiven, SysfsTree } from '#local/demo/sysfs-tree.ts';

/** Creates an empty tree below the system's folder for temporary files. */
export function aSysfsTree(): SysfsTree {
  return new SysfsTree();
}
