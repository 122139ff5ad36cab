// Locks the directory of its argument, tells the process that started it whether it could, and
// lives until it is killed.

import { lockState, StateInUse } from '#agent/state/state-lock.ts';
import { silentLog } from '#test/support/hosts/agent.ts';

setInterval(() => {}, 60_000);
try {
  const isLocked = await lockState(process.argv[2] ?? '', silentLog);
  process.send?.(isLocked ? 'held' : 'not locked');
} catch (error) {
  process.send?.(error instanceof StateInUse ? 'in use' : String(error));
}
