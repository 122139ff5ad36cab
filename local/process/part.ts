// One part of the local system in a process of its own: `node local/process/part.ts <name> <layout
// as JSON>`. Reports to its parent when it is ready, and ends with its parent.

import { createLog } from '#core/log.ts';
import type { Layout } from './layout.ts';
import { type PartName, type setupName, startPart } from './parts.ts';

const [name, text] = process.argv.slice(2) as [PartName | typeof setupName, string];
const layout = JSON.parse(text) as Layout;

process.on('disconnect', () => process.exit(0));
// Ctrl-C in a terminal reaches the whole process group; the parent stops its parts in order.
process.on('SIGINT', () => {});

try {
  const part = await startPart(name, layout, createLog(name));
  process.on('SIGTERM', () => void part.stop().finally(() => process.exit(0)));
  process.send?.({ ready: name });
} catch (error) {
  process.send?.({ failed: (error as Error).message });
  process.exit(1);
}
