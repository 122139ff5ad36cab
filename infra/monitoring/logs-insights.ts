// The address of a filled-in query in the console of CloudWatch Logs Insights. AWS documents no
// format; this is what the console itself writes into the browser's address.

export interface LogsQuery {
  /** Log groups with the placeholder `<stage>`. */
  readonly groups: readonly string[];
  readonly query: string;
}

/** @param region may be a reference of the CDK, since it is not encoded */
export function logsInsightsUrl(region: string, { groups, query }: LogsQuery): string {
  const source = groups.map((group) => `~'${escaped(group)}`).join('');
  const detail = `~(end~0~start~-3600~timeType~'RELATIVE~unit~'seconds~editorString~'${escaped(query)}~source~(${source}))`;
  return `https://${region}.console.aws.amazon.com/cloudwatch/home?region=${region}#logsV2:logs-insights$3FqueryDetail$3D${detail}`;
}

/** The value of a field: all but letters, digits and `_.-` become `*` and two hex digits. */
function escaped(text: string): string {
  return [...new TextEncoder().encode(text)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[\w.-]/.test(character) ? character : `*${byte.toString(16).padStart(2, '0')}`;
    })
    .join('');
}
