/** The generic rules for names, labels and keys. Each rule returns the problems, in the real server's words. */

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const QUALIFIED_NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const PORT_NAME = /^[-a-z0-9]+$/;

const LABEL_MESSAGE =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with " +
  "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_MESSAGE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and " +
  "end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const QUALIFIED_NAME_MESSAGE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
  "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE_MESSAGE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end " +
  "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
  "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

export type NameRule = (value: string) => readonly string[];

const FINE: readonly string[] = [];

/** RFC 1123 label. */
export const labelName: NameRule = (value) => {
  if (value.length <= 63 && LABEL.test(value)) return FINE;
  const problems: string[] = [];
  if (value.length > 63) problems.push('must be no more than 63 characters');
  // The server checks the length first. A name that is a valid subdomain gets a message of its own.
  else if (SUBDOMAIN.test(value)) problems.push('must not contain dots');
  if (!LABEL.test(value) && problems.length === 0) problems.push(LABEL_MESSAGE);
  return problems;
};

/** RFC 1123 subdomain. */
export const subdomainName: NameRule = (value) => {
  if (value.length <= 253 && SUBDOMAIN.test(value)) return FINE;
  const problems: string[] = [];
  if (value.length > 253) problems.push('must be no more than 253 characters');
  if (!SUBDOMAIN.test(value)) problems.push(SUBDOMAIN_MESSAGE);
  return problems;
};

/** `name` or `prefix/name`: keys of labels and annotations, application protocols. */
export const qualifiedName: NameRule = (value) => {
  const parts = value.split('/');
  const problems: string[] = [];
  let name = parts[0]!;
  if (parts.length > 2) {
    return [
      `a valid label key ${QUALIFIED_NAME_MESSAGE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  if (parts.length === 2) {
    name = parts[1]!;
    if (parts[0] === '') problems.push('prefix part must be non-empty');
    else
      problems.push(
        ...subdomainName(parts[0]!).map((problem) => `prefix part ${problem.replace('253 characters', '253 bytes')}`),
      );
  }
  if (name === '') problems.push('name part must be non-empty');
  else if (name.length > 63) problems.push('name part must be no more than 63 bytes');
  if (!QUALIFIED_NAME.test(name)) problems.push(`name part ${QUALIFIED_NAME_MESSAGE}`);
  return problems;
};

export const labelValue: NameRule = (value) => {
  const problems: string[] = [];
  if (value.length > 63) problems.push('must be no more than 63 bytes');
  if (value !== '' && !QUALIFIED_NAME.test(value)) problems.push(LABEL_VALUE_MESSAGE);
  return problems;
};

/** The name of a container's port (RFC 6335 service name). */
export const portName: NameRule = (value) => {
  const problems: string[] = [];
  if (value.length > 15) problems.push('must be no more than 15 characters');
  if (!PORT_NAME.test(value)) {
    problems.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  }
  if (!/[a-z]/.test(value)) problems.push('must contain at least one letter (a-z)');
  if (value.includes('--')) problems.push('must not contain consecutive hyphens');
  if (value.startsWith('-') || value.endsWith('-')) problems.push('must not begin or end with a hyphen');
  return problems;
};

export function portNumber(value: number): readonly string[] {
  return value >= 1 && value <= 65_535 ? FINE : ['must be between 1 and 65535, inclusive'];
}

export const PROTOCOLS: readonly string[] = ['SCTP', 'TCP', 'UDP'];
