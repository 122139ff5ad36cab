// One server: which accelerators it has, and what happened to them.

import { AssignmentTable } from '#console/devices/assignments.tsx';
import { Timeline } from '#console/devices/timeline.tsx';
import { Missing, missingOf } from '#console/parts/missing.tsx';
import { Id } from '#console/parts/names/links.tsx';
import { useName } from '#console/parts/names/name.tsx';
import { Screen, Section } from '#console/parts/screen.tsx';
import { Freshness } from '#console/parts/time/freshness.tsx';
import { useLive } from '#console/parts/use-live.ts';
import type { ScreenProps } from '#console/routes.ts';
import { lists } from '#core/contracts/api/lists/lists.ts';

const everyMs = 30_000;

export function ServerScreen({ route: { id: uuid = '' } }: ScreenProps) {
  const name = useName('servers', uuid);
  const live = useLive<boolean>(`server ${uuid}`, { everyMs }, async ({ session, signal }) => {
    const query = { instance: uuid, limit: 1 };
    const answers = await Promise.all(
      (['assignments', 'history'] as const).map((name) =>
        session.api.ask<Record<string, unknown[]>>('GET', lists[name].path, { query, signal }),
      ),
    );
    return answers.some((answer) => Object.values(answer)[0]?.length);
  });
  const sentence =
    missingOf(live)?.message ??
    (live.data === false ? `No server ${uuid} has, or had, an accelerator.` : undefined);
  if (sentence !== undefined) {
    return (
      <Missing
        title="No such server"
        sentence={sentence}
        ways={[['Show the requests of all servers', 'requests']]}
      />
    );
  }
  return (
    <Screen title={`Server ${name || uuid}`}>
      {name && <Id id={uuid} />}
      <Freshness live={live} subject="the server" />
      {live.data && (
        <>
          <Section title="Its accelerators">
            <AssignmentTable
              query={{ instance: uuid }}
              empty="The server has no accelerator now."
            />
          </Section>
          <Section title="What happened">
            <Timeline query={{ instance: uuid }} />
          </Section>
        </>
      )}
    </Screen>
  );
}
