// Where the accelerators of a host are, who holds which, and what its pools can give together.

import type { HostTopology } from '#console/api/answers.ts';
import { hostPath } from '#console/parts/names/host-path.ts';
import { ServerLink } from '#console/parts/names/name.tsx';
import { counted } from '#console/parts/time/time-text.ts';
import { useLive } from '#console/parts/use-live.ts';
import { entriesOf, type Place, placesOf } from '#core/domain/pool/host-tree.ts';
import { sameLevels } from '#core/domain/pool/wholes.ts';

const everyMs = 30_000;

type Unit = HostTopology['units'][number];
type Pool = HostTopology['pools'][number];

export function Topology({ hostname }: { readonly hostname: string }) {
  const path = `${hostPath(hostname)}/topology`;
  const { data } = useLive<HostTopology>(path, { everyMs }, ({ session, signal }) =>
    session.api.ask('GET', path, { signal }),
  );
  if (!data) return null;
  if (data.units.length === 0) return <p class="quiet">The host offers no accelerator.</p>;
  return (
    <>
      {data.pools.map((pool) => (
        <p key={pool.device_uuid}>{poolText(pool)}</p>
      ))}
      <PlaceItems place={placesOf(data.units)} />
    </>
  );
}

function poolText({ device_address: name, units, free, together }: Pool): string {
  const most = sameLevels.map((level) => `${together[level] ?? 0} of one ${level}`).join(', ');
  return `Pool ${name}: ${free} of ${counted(units, 'unit')} free. One server can get ${most}.`;
}

function PlaceItems({ place: { below, units } }: { readonly place: Place<Unit> }) {
  return (
    <ul>
      {entriesOf(units).map(({ first, others }) => (
        <UnitItem key={first.attach_handle_uuid} unit={first} others={others} />
      ))}
      {below.map((place) => (
        <li key={place.title}>
          {place.title}
          <PlaceItems place={place} />
        </li>
      ))}
    </ul>
  );
}

function UnitItem({ unit, others }: { readonly unit: Unit; readonly others: number }) {
  const { device_address: device, address, set, instance_uuid: server } = unit;
  const more = others > 0 ? ` and ${others} more` : '';
  const ofDevice = address && address !== device ? `, of ${device}` : '';
  return (
    <li>
      {`${address ?? device}${more}${ofDevice}: ${unit.resource_class ?? unit.type}, `}
      {server ? <ServerLink uuid={server} /> : unit.state}
      {set && `, set ${set}`}
    </li>
  );
}
