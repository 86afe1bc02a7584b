import { EXPORT_FORMATS } from '../export.ts';

type ExportLinksProps = {
  /** What the file contains, such as `all teams`. */
  readonly what: string;
  /** The address of the list, with its filters and its order. */
  readonly url: string;
};

/** Links that download the whole list as a file. */
export function ExportLinks({ what, url }: ExportLinksProps) {
  const separator = url.includes('?') ? '&' : '?';
  return (
    <p>
      Export {what} as{' '}
      {EXPORT_FORMATS.map((format, index) => (
        <>
          {index > 0 && ' or '}
          <a href={`${url}${separator}format=${format}`} download>
            {format.toUpperCase()}
          </a>
        </>
      ))}
    </p>
  );
}
