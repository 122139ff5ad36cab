// The devices of the hosts, as `npm start` prints them: the list of the API, each time it changes.

import * as z from 'zod';
import { send } from '#local/http-call.ts';

const listing = z.object({
  devices: z.array(
    z.object({ hostname: z.string(), type: z.string(), std_board_info: z.string().nullish() }),
  ),
});

export interface DeviceList {
  /** Asks the API soon, and prints the devices if they have changed. */
  look(): void;
}

/** Several reports of a host come at once; one request is enough for them. */
const gatherMs = 200;

/** @param api URL of the accelerator API in the catalog */
export function showDevices(api: string, say: (sentence: string) => void): DeviceList {
  let timer: NodeJS.Timeout | undefined;
  let last = '';

  async function show(): Promise<void> {
    const url = `${api}/devices`;
    const headers = { 'X-Auth-Token': 'manager-token' };
    const { text } = await send({ method: 'GET', url, headers });
    const parsed = listing.safeParse(JSON.parse(text));
    if (!parsed.success || parsed.data.devices.length === 0) return;
    const sentences = sentencesOf(parsed.data.devices);
    if (sentences.join() === last) return;
    last = sentences.join();
    for (const sentence of sentences) say(sentence);
  }

  return {
    look: () => {
      clearTimeout(timer);
      // Ignore errors: a real Keystone does not know our token, and a stopping system does not
      // answer.
      timer = setTimeout(() => void show().catch(() => {}), gatherMs);
      timer.unref();
    },
  };
}

/** One sentence for each host. */
function sentencesOf(devices: z.infer<typeof listing>['devices']): string[] {
  const byHost = Map.groupBy(devices, ({ hostname }) => hostname);
  return [...byHost].map(
    ([hostname, own]) =>
      `${hostname} has ${own
        .map(({ type }) => type)
        .sort()
        .join(', ')}`,
  );
}
