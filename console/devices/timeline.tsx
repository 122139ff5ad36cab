// The history of a device, a host or a server, the newest record first.

import { useState } from 'preact/hooks';
import type { HistoryRecord } from '#console/api/answers.ts';
import type { Query } from '#console/api/client.ts';
import { Field } from '#console/parts/dialog/field.tsx';
import { PartialList, useList } from '#console/parts/list/live-list.tsx';
import { DeviceLink, HostLink, Id } from '#console/parts/names/links.tsx';
import { Actor, Name, ServerLink } from '#console/parts/names/name.tsx';
import { Freshness } from '#console/parts/time/freshness.tsx';
import { Time } from '#console/parts/time/time.tsx';
import { dayAfter } from '#console/parts/time/time-text.ts';
import { evidenceText, kindText, recordGroups } from './record-text.ts';

const everyMs = 5000;
const rowsMax = 50;

/** @param subject a device, a host, a server or a request */
export function Timeline({ query: subject }: { readonly query: Query }) {
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const query = { ...subject, from, to: to === '' ? '' : dayAfter(to) };
  const list = useList('history', { everyMs, rowsMax, query });
  const namesDevices = subject.device === undefined;
  return (
    <>
      <div class="filters">
        <Field label="From day" name="from" type="date" value={from} onInput={setFrom} />
        <Field label="To day" name="to" type="date" value={to} onInput={setTo} />
      </div>
      <Freshness live={list} subject="the history" />
      {list.data && <Records records={list.rows} namesDevices={namesDevices} />}
      <PartialList list={list} row="record" />
    </>
  );
}

interface RecordsProps {
  readonly records: readonly HistoryRecord[];
  /** Each record says of which host it is. */
  readonly namesHosts?: boolean;
  /** Each record says of which device it is. */
  readonly namesDevices: boolean;
}

export function Records({ records, namesDevices, namesHosts = false }: RecordsProps) {
  if (records.length === 0) return <p class="empty">Nothing is recorded.</p>;
  return (
    <ol class="timeline" aria-label="History">
      {recordGroups(records).map(({ first: record, count }) => (
        <li key={record.id} class={markOf(record.kind)}>
          <Time at={record.at} />
          <div>
            <strong>
              {kindText(record.kind)}
              {count > 1 && ` (${count})`}
            </strong>
            {record.from !== null && record.to !== null && (
              <span class="quiet">{` ${record.from} \u2192 ${record.to}`}</span>
            )}
            {record.call && (
              <p>
                <code>{`${record.call.method} ${record.call.path}`}</code>{' '}
                {`answered ${record.call.status}`}
              </p>
            )}
            {record.reason && <p>{record.reason}</p>}
            {record.evidence && <p class="evidence">Verified: {evidenceText(record.evidence)}</p>}
            <p class="quiet facts">
              {namesHosts && record.hostname && (
                <span>
                  host <HostLink hostname={record.hostname} />{' '}
                </span>
              )}
              {namesDevices && record.device_uuid && (
                <span>
                  device <DeviceLink uuid={record.device_uuid} />{' '}
                </span>
              )}
              {record.instance_uuid && (
                <span>
                  server <ServerLink uuid={record.instance_uuid} />{' '}
                </span>
              )}
              {record.project_id && (
                <span>
                  project <Name kind="projects" id={record.project_id} />{' '}
                </span>
              )}
              {record.by && (
                <span>
                  by <Actor by={record.by} />{' '}
                </span>
              )}
              <Named title="request" id={record.request_id} />
            </p>
          </div>
        </li>
      ))}
    </ol>
  );
}

/** The class of its mark, by what it happened to, or that it is bad. */
function markOf(kind: HistoryRecord['kind']): string {
  const [subject = '', event = ''] = kind.split('.');
  return /^(failed|unhealthy|quarantined|conflict)$/.test(event) ? 'bad' : subject;
}

function Named({ title, id }: { readonly title: string; readonly id: string | null }) {
  if (!id) return null;
  return (
    <span>
      {title} <Id id={id} />{' '}
    </span>
  );
}
