/** Quality metrics of a session by mid, as the document lists them; unit null where it has none. */
export const sessionMetrics: Readonly<
  Record<number, { readonly name: string; readonly unit: string | null }>
> = {
  20001: { name: 'App CPU usage', unit: '%' },
  20002: { name: 'System CPU usage', unit: '%' },
  20003: { name: 'Upstream audio bitrate', unit: 'Kbps' },
  20004: { name: 'Downstream audio bitrate', unit: 'Kbps' },
  20005: { name: 'Freeze time in rendering audio', unit: 'ms' },
  20006: { name: 'Upstream bitrate of low-quality video stream', unit: 'Kbps' },
  20007: { name: 'Video capturing frame rate', unit: 'fps' },
  20008: { name: 'Upstream frame rate of high-quality video stream', unit: 'fps' },
  20009: { name: 'Downstream video bitrate', unit: 'Kbps' },
  20010: { name: 'Downstream video frame rate', unit: 'fps' },
  20011: { name: 'Freeze time in rendering video', unit: 'ms' },
  20013: { name: 'Video quality of picture (QP); lower is better', unit: null },
  20015: { name: 'Upstream audio packet loss rate', unit: '%' },
  20016: { name: 'End-to-end audio packet loss rate', unit: '%' },
  20017: { name: 'Upstream video packet loss rate', unit: '%' },
  20018: { name: 'End-to-end video packet loss rate', unit: '%' },
  20019: { name: 'Width of received video', unit: null },
  20020: { name: 'Height of received video', unit: null },
  20021: { name: 'Task scheduling delay', unit: 'ms' },
  20022: { name: 'Round-trip delay from client to local router', unit: 'ms' },
  20023: { name: 'Upstream frame rate of low-quality video stream', unit: 'fps' },
  20024: { name: 'Upstream bitrate of high-quality video stream', unit: 'Kbps' },
  20025: { name: 'Sampling volume of sent audio', unit: 'dB' },
  20026: { name: 'Playback volume of received audio', unit: 'dB' },
  20027: { name: 'Width of sent video', unit: null },
  20028: { name: 'Height of sent video', unit: null },
}

/** Values of the lists that the document does not show, known from services of this kind. */
export const usageMetrics = [
  'userCount',
  'sessionCount',
  'channelCount',
  'peakCurrentChannels',
  'peakCurrentUsers',
  'totalDuration',
  'totalVideoDuration',
  'totalAudioDuration',
] as const

export const qualityMetrics = [
  'joinSuccessRate',
  'joinSuccessIn5sRate',
  'audioFreezeRate',
  'videoFreezeRate',
  'networkDelay',
] as const

export const realtimeUsageMetrics = ['userCount', 'channelCount'] as const
