// One accelerator request: its state, what it is bound to, and what happened to it.

import type { Arq } from '#console/api/answers.ts';
import { Timeline } from '#console/devices/timeline.tsx';
import { Missing, missingOf } from '#console/parts/missing.tsx';
import { HostLink } from '#console/parts/names/links.tsx';
import { Name, ServerLink } from '#console/parts/names/name.tsx';
import { Properties } from '#console/parts/properties.tsx';
import { Screen, Section } from '#console/parts/screen.tsx';
import { StateOf } from '#console/parts/status.tsx';
import { Freshness } from '#console/parts/time/freshness.tsx';
import { Time } from '#console/parts/time/time.tsx';
import { useLive } from '#console/parts/use-live.ts';
import type { ScreenProps } from '#console/routes.ts';

const everyMs = 5000;

export function RequestScreen({ route: { id: uuid = '' } }: ScreenProps) {
  const path = `/v2/accelerator_requests/${encodeURIComponent(uuid)}`;
  const live = useLive<Arq>(path, { everyMs }, ({ session, signal }) =>
    session.api.ask('GET', path, { signal }),
  );
  const missing = missingOf(live);
  if (missing) {
    return (
      <Missing
        title="No such request"
        sentence={`${missing.message} The requests of a server end with it.`}
        ways={[['Show the requests that exist', 'requests']]}
      />
    );
  }
  return (
    <Screen title={`Request ${uuid}`}>
      <Freshness live={live} subject="the request" />
      {live.data && <Facts arq={live.data} />}
      <Section title="What happened">
        <Timeline query={{ arq: uuid }} />
      </Section>
    </Screen>
  );
}

function Facts({ arq }: { readonly arq: Arq }) {
  return (
    <Section title="State">
      <Properties
        items={[
          ['State', <StateOf key="state" word={arq.state} />],
          ['Profile', arq.device_profile_name],
          ['Host', <HostLink key="host" hostname={arq.hostname} />],
          ['Server', <ServerLink key="server" uuid={arq.instance_uuid} />],
          ['Project', <Name key="project" kind="projects" id={arq.project_id} />],
          ['Created, UTC', <Time key="created" at={arq.created_at} />],
          ['Changed, UTC', <Time key="changed" at={arq.updated_at} />],
        ]}
      />
    </Section>
  );
}
